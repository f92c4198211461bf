package checker

import (
	"slices"
	"strconv"

	"github.com/lockcheck/lockcheck/histories"
)

// workersEnds collects when workers were killed and started again, and when
// they were told that a lock is gone.
func (r *run) workersEnds() {
	r.deaths, r.births = map[histories.Process][]int64{}, map[histories.Process][]int64{}
	r.notices = noticeIndex{}
	r.perHost = 1
	if n, err := strconv.ParseInt(r.h.Header.Settings["per-host"], 10, 32); err == nil && n > 1 {
		r.perHost = histories.Process(n)
	}
	var kills []*histories.Event
	for i := range r.h.Marks {
		m := &r.h.Marks[i]
		switch {
		case m.F == histories.Lost:
			r.notices.add(m)
		case m.Process == histories.Nemesis && (m.F == histories.Kill || m.F == histories.Crash):
			kills = append(kills, m)
		case m.Process == histories.Nemesis && m.F == histories.Start:
			for _, name := range m.Targets {
				if host, ok := workerNumber(name); ok {
					r.births[host] = append(r.births[host], m.Time)
				}
			}
		}
	}
	for _, list := range r.births {
		slices.Sort(list)
	}
	for _, m := range kills { // an ambush is sprung before the next start
		r.killed(m)
	}
	for _, list := range r.deaths {
		slices.Sort(list)
	}
}

// killed notes the death of the hosts of a mark. A worker that was caught in an
// ambush died some time after it was laid: when it fell silent, before it was
// started again.
func (r *run) killed(m *histories.Event) {
	for _, name := range m.Targets {
		host, ok := workerNumber(name)
		if !ok {
			continue
		}
		at := m.Time
		if kind(m).Later {
			at = max(at, r.lastWord(host, at, firstFrom(r.births[host], at+1)))
		}
		r.deaths[host] = append(r.deaths[host], at)
	}
}

// lastWord is the time of the last event of a host in [from, to); 0 if it has
// none.
func (r *run) lastWord(host histories.Process, from, to int64) int64 {
	words := r.words()[host]
	i, _ := slices.BinarySearch(words, to)
	if i == 0 || words[i-1] < from {
		return 0
	}
	return words[i-1]
}

// words are the times of the events of hosts, each in order.
func (r *run) words() map[histories.Process][]int64 {
	r.listen.Do(func() {
		r.spoken = map[histories.Process][]int64{}
		for i := range r.h.Ops {
			op := &r.h.Ops[i]
			host := r.host(op.Process)
			r.spoken[host] = append(r.spoken[host], op.Call)
			if op.Return != histories.Never {
				r.spoken[host] = append(r.spoken[host], op.Return)
			}
		}
		for _, times := range r.spoken {
			slices.Sort(times)
		}
	})
	return r.spoken
}

// host is the worker after which the host of p is named: its first.
func (r *run) host(p histories.Process) histories.Process { return p - p%r.perHost }

// diesAt is when the life ends that p has at t; Never if it does not. A mark is
// made before the kill: what p did between that and its next start was still
// done in the life that ended, before t then.
func (r *run) diesAt(p histories.Process, t int64) int64 {
	deaths := r.deaths[r.host(p)]
	if i, _ := slices.BinarySearch(deaths, t); i > 0 && firstFrom(r.births[r.host(p)], deaths[i-1]) > t {
		return deaths[i-1]
	}
	return firstFrom(deaths, t)
}

// ended is when a worker stopped waiting for op: its answer, or its death. An
// operation that was called after the mark of a kill ended by the next start.
func (r *run) ended(op *histories.Op) int64 {
	if op.Return != histories.Never {
		return op.Return
	}
	death := r.diesAt(op.Process, op.Call)
	if death >= op.Call {
		return death
	}
	if birth := firstFrom(r.births[r.host(op.Process)], op.Call); birth != histories.Never {
		return birth
	}
	return op.Call
}

// workerNumber reads "worker-4". Other names have none.
func workerNumber(name string) (histories.Process, bool) {
	n, ok := histories.WorkerNumber(name)
	return histories.Process(n), ok
}
