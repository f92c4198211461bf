package locktest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/report"
)

// Limits of a scene, in virtual time.
const (
	longestCut = 6 * time.Second  // a request may arrive that much after its time-out
	ending     = 20 * time.Second // what a lock has to end its goroutines
	finalWait  = 20 * time.Second // for the last attempts, beyond the lease
)

// scene is one run of a lock: its world while it is played, then its history and
// the verdict on it.
type scene struct {
	*subject
	nemesis string
	seed    uint64
	calm    bool // packets arrive at once

	start   time.Time
	servers []*server
	workers []*worker
	final   chan struct{} // closed when the last attempts begin
	over    chan struct{} // closed when they have to end

	mu      sync.Mutex
	events  []histories.Event
	ops     int64
	trouble error // the first that is neither busy nor a lost lock

	recorded []byte
	history  *histories.History
	verdict  *checker.Verdict
}

// stream makes random numbers of the seed, which no other part of the scene
// draws from.
func (s *scene) stream(part, n int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(part)<<32|uint64(n)))
}

// The parts of a scene that draw random numbers.
const (
	ofNemesis = iota
	ofWorker
	ofLink
)

// play runs the scene in a bubble and judges what was recorded.
func (s *scene) play(t *testing.T) error {
	synctest.Test(t, func(*testing.T) { s.run() })
	var out bytes.Buffer
	rec, err := histories.NewRecorder(&out, s.header())
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.events, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	for _, e := range s.events {
		rec.Record(e)
	}
	if err := rec.Err(); err != nil {
		return err
	}
	s.recorded = out.Bytes()
	if s.history, err = histories.ReadJSON(bytes.NewReader(s.recorded)); err != nil {
		return fmt.Errorf("reading back the history of seed %d: %w", s.seed, err)
	}
	s.verdict = checker.Check(context.Background(), s.history, checker.Options{RecheckTime: -1, Trust: true})
	return nil
}

func (s *scene) header() histories.Header {
	h := histories.Header{
		Design: s.Name, Nemesis: s.nemesis, Cluster: "sim", Source: strconv.Itoa(len(s.servers)) + " simulated Redis servers", Seed: s.seed,
		Lock:     histories.LockSpec{TTL: s.TTL, Grace: s.Grace},
		MaxDelay: longestCut,
		Settings: map[string]string{
			"workers": strconv.Itoa(s.Workers), "keys": strconv.Itoa(s.Keys), "time-limit": s.Time.String(), "wait": s.Wait.String(),
		},
	}
	if len(s.servers) == 1 {
		h.Source = "simulated Redis"
	}
	for _, w := range s.workers {
		h.Lock.Deadline = h.Lock.Deadline || w.deadline
		h.Lock.Notice = h.Lock.Notice || w.notice
	}
	return h
}

// run plays the scene. It is called in a bubble.
//
//	running, under faults ── quiet, healed ── last attempts ── done
func (s *scene) run() {
	s.open()
	var all sync.WaitGroup
	for i := range s.Workers {
		w := newWorker(s, i)
		s.workers = append(s.workers, w)
		all.Go(w.live)
	}
	s.phase("running")
	player(s.nemesis)(&injector{scene: s, rand: s.stream(ofNemesis, 0), until: s.Time})
	time.Sleep(s.Time - s.now())
	s.mark(histories.Fault{F: histories.Heal}, s.now(), "end of faults")
	s.phase("quiet")
	time.Sleep(s.TTL + s.Grace + longestCut + s.Wait)
	s.phase(histories.PhaseFinal)
	close(s.final)
	await(&all, s.TTL+s.Grace+finalWait, s.over)
	s.phase("done")
	s.shut(s.workers...)
}

// open starts the servers.
func (s *scene) open() {
	s.start = time.Now()
	s.final, s.over = make(chan struct{}), make(chan struct{})
	for i := range s.subject.servers {
		s.servers = append(s.servers, newServer("redis-"+strconv.Itoa(i+1)))
	}
}

// shut ends workers and servers.
func (s *scene) shut(workers ...*worker) {
	for _, w := range workers {
		w.end()
	}
	time.Sleep(ending)
	for _, server := range s.servers {
		server.stop()
	}
}

// latency is how long a packet to or from a server is under way.
func (s *scene) latency(server *server, r *rand.Rand) time.Duration {
	if s.calm {
		return 0
	}
	return server.latency(r)
}

// await waits for a group. After limit it closes over and waits on.
func await(all *sync.WaitGroup, limit time.Duration, over chan struct{}) {
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
		close(over)
	case <-time.After(limit):
		close(over)
		<-done
	}
}

// now is the time since the start of the scene.
func (s *scene) now() time.Duration { return time.Since(s.start) }

func (s *scene) record(e histories.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *scene) nextOp() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops++
	return s.ops
}

func (s *scene) phase(name string) {
	s.record(histories.Event{Time: int64(s.now()), Process: histories.Nemesis, Type: histories.Info, F: histories.Phase, Note: name})
}

// mark records a fault that began at a time.
func (s *scene) mark(f histories.Fault, at time.Duration, proof string) {
	targets := append(append([]string{}, f.Targets...), f.From...)
	s.record(histories.Event{
		Time: int64(at), Process: histories.Nemesis, Type: histories.Info, F: f.F, Targets: append(targets, f.To...), Fault: &f, Proof: proof,
	})
}

// failed remembers the first error that a lock gave for an unknown reason.
func (s *scene) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble == nil {
		s.trouble = err
	}
}

// doubt is why the scene has shown nothing, "" if it has: it was granted locks, it
// had faults that hit something, and locks were granted after the first of them.
func (s *scene) doubt() string {
	switch faults, after := s.faults(); {
	case s.verdict.Counts.Grants == 0 && s.trouble != nil:
		return "no lock was ever granted: " + s.trouble.Error()
	case s.verdict.Outcome == checker.Unknown:
		return s.verdict.Reason
	case s.verdict.Counts.Grants == 0:
		return "no lock was ever granted"
	case s.nemesis != none && faults == 0:
		return "no fault hit anything"
	case s.nemesis != none && after == 0:
		return "no lock was granted after a fault"
	}
	return ""
}

// faults counts the faults that hit something, and the grants after the first.
func (s *scene) faults() (faults, after int) {
	first := int64(histories.Never)
	for i := range s.history.Marks {
		if m := &s.history.Marks[i]; m.IsFault() && m.Proof != "" {
			faults++
			first = min(first, m.Time)
		}
	}
	for i := range s.history.Ops {
		if op := &s.history.Ops[i]; op.F == histories.Acquire && op.Outcome == histories.OK && op.Call > first {
			after++
		}
	}
	return faults, after
}

func (s *scene) report() report.Run {
	return report.Run{Header: s.history.Header, History: s.history, Verdict: s.verdict}
}

// text is the verdict for a terminal, judged with all that one run may cost.
func (s *scene) text() string {
	s.verdict = checker.Check(context.Background(), s.history, checker.Options{Trust: true})
	var b strings.Builder
	if err := report.Text(&b, s.report(), report.Style{}); err != nil {
		return err.Error()
	}
	return b.String()
}

// keep writes the history and the report to a folder of the store and answers the
// path of the report.
func (s *scene) keep(store string) (path string, err error) {
	cell := strings.NewReplacer("/", "-", "\\", "-", " ", "-").Replace(s.Name + "-" + s.nemesis)
	folder, err := histories.NewFolder(store, strings.TrimLeft(cell, "."), time.Now())
	if err != nil {
		return "", err
	}
	var page bytes.Buffer
	err = errors.Join(report.HTML(&page, s.report()), folder.Write(histories.HistoryFile, s.recorded))
	if err == nil {
		err = folder.Write(histories.ReportFile, page.Bytes())
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(folder.Path(histories.ReportFile))
}
