package checker

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// workersEnds collects when workers were killed and when they were told that
// a lock is gone.
func (r *run) workersEnds() {
	r.deaths = map[histories.Process][]int64{}
	r.notices = map[histories.Process][]*histories.Event{}
	r.perHost = 1
	if n, err := strconv.ParseInt(r.h.Header.Settings["per-host"], 10, 32); err == nil && n > 1 {
		r.perHost = histories.Process(n)
	}
	for i := range r.h.Marks {
		m := &r.h.Marks[i]
		switch {
		case m.F == histories.Lost:
			r.notices[m.Process] = append(r.notices[m.Process], m)
		case m.Process == histories.Nemesis && (m.F == histories.Kill || m.F == histories.Crash):
			r.killed(m)
		}
	}
	for _, times := range r.deaths {
		slices.Sort(times)
	}
}

// killed notes the death of the hosts of a mark. Whoever was caught in an
// ambush died some time after it was laid: when it fell silent.
func (r *run) killed(m *histories.Event) {
	for _, name := range m.Targets {
		host, ok := workerNumber(name)
		if !ok {
			continue
		}
		at := m.Time
		if ambush(m) {
			at = max(at, r.lastWords()[host])
		}
		r.deaths[host] = append(r.deaths[host], at)
	}
}

// lastWords are the times of the last events of hosts.
func (r *run) lastWords() map[histories.Process]int64 {
	if r.silent == nil {
		r.silent = map[histories.Process]int64{}
		for i := range r.h.Ops {
			op := &r.h.Ops[i]
			last := op.Call
			if op.Return != histories.Never {
				last = op.Return
			}
			host := r.host(op.Process)
			r.silent[host] = max(r.silent[host], last)
		}
	}
	return r.silent
}

// host is the worker after which the host of p is named: its first.
func (r *run) host(p histories.Process) histories.Process { return p - p%r.perHost }

// diesAt is when p is killed first from t on; Never if it is not.
func (r *run) diesAt(p histories.Process, t int64) int64 { return firstFrom(r.deaths[r.host(p)], t) }

// workerNumber reads "worker-4". Other names have none.
func workerNumber(name string) (histories.Process, bool) {
	digits, ok := strings.CutPrefix(name, "worker-")
	n, err := strconv.ParseInt(digits, 10, 32)
	return histories.Process(n), ok && err == nil && n >= 0
}
