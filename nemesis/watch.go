package nemesis

import (
	"slices"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// Watch follows the events of a run so that triggers can be aimed. Let it See
// every event. The zero Watch is ready; it is safe for concurrent use.
type Watch struct {
	mu    sync.Mutex
	asked map[string]int             // lock key → acquires in flight and holds
	freed map[string]int64           // lock key → when it was last nobody's again
	work  map[int64]int64            // open sell → how long it will work
	open  map[int64]begun            // open acquires and releases; completions repeat nothing
	own   map[string]histories.Event // what the cluster did by itself, the last of each kind
	armed *armed

	struck  int64           // when the last fault was injected
	touched map[string]bool // lock keys that somebody had or wanted around a fault of the episode
}

type begun struct {
	key    string
	parent int64
}

type armed struct {
	Trigger
	left int
	hit  *histories.Event
}

// See takes in one event.
func (w *Watch) See(e histories.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked, w.work, w.open = map[string]int{}, map[int64]int64{}, map[int64]begun{}
		w.freed, w.own = map[string]int64{}, map[string]histories.Event{}
	}
	if e.Process == histories.Nemesis {
		w.own[e.F] = e
	}
	w.match(e)
	w.follow(e)
}

// follow keeps account of who has or wants which lock. What is in doubt
// counts as taken: an aim then waits for a better moment.
func (w *Watch) follow(e histories.Event) {
	switch {
	case e.F == histories.Sell && e.Type == histories.Invoke:
		w.work[e.Op] = e.Work
	case e.F == histories.Sell:
		delete(w.work, e.Op)
	case e.F != histories.Acquire && e.F != histories.Release:
	case e.Type == histories.Invoke:
		w.open[e.Op] = begun{e.Key, e.Parent}
		if e.F == histories.Acquire {
			w.asked[e.Key]++
			if w.touched != nil && e.Time <= w.struck+int64(settling) {
				w.touched[e.Key] = true
			}
		}
	case e.F == histories.Release, e.Type == histories.Fail:
		w.drop(w.open[e.Op].key, e.Time)
		delete(w.open, e.Op)
	default: // granted, or unknown: taken until released
		delete(w.open, e.Op)
	}
}

func (w *Watch) drop(key string, at int64) {
	if w.asked[key]--; w.asked[key] <= 0 {
		delete(w.asked, key)
		w.freed[key] = at
	}
}

// match looks whether e is what the armed trigger waits for.
func (w *Watch) match(e histories.Event) {
	a := w.armed
	if a == nil || a.hit != nil || !slices.Contains(a.F, e.F) {
		return
	}
	want := a.Type
	if want == "" {
		want = histories.OK
	}
	if e.Process == histories.Nemesis {
		want = histories.Info
	}
	e = w.completed(e)
	switch {
	case e.Type != want,
		a.Worker != nil && int(e.Process) != *a.Worker,
		a.MinWork > 0 && w.work[e.Parent] < int64(a.MinWork) && w.work[e.Op] < int64(a.MinWork),
		a.Free && w.touched[e.Key] && (a.Lease == 0 || e.Time < w.struck+int64(settling+a.Lease)):
		return
	}
	if a.left--; a.left <= 0 {
		a.hit = &e
	}
}

// completed is a completion with what its invocation said.
func (w *Watch) completed(e histories.Event) histories.Event {
	if b, ok := w.open[e.Op]; ok && e.Type != histories.Invoke {
		e.Key, e.Parent = b.key, b.parent
	}
	return e
}

// Of a lock that is taken while replicas are being cut off, one may know the
// grant and not the release.
const (
	lag      = 100 * time.Millisecond // until a replica has heard of a release
	settling = 200 * time.Millisecond // until a cut is in force
)

// begin notes that an episode begins now.
func (w *Watch) begin(now time.Duration) {
	w.mu.Lock()
	w.touched = map[string]bool{}
	w.mu.Unlock()
	w.strike(now)
}

// strike notes that a fault is injected now.
func (w *Watch) strike(now time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.struck = int64(now)
	for key := range w.asked {
		w.touched[key] = true
	}
	for key, at := range w.freed {
		w.touched[key] = w.touched[key] || at >= int64(now-lag)
	}
}

// arm begins to wait for t. What the cluster did by itself counts from the
// last fault on: a replica may be promoted while the fault's proof is still
// being looked for.
func (w *Watch) arm(t Trigger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = &armed{Trigger: t, left: max(t.Nth, 1)}
	for _, f := range t.F {
		if e, ok := w.own[f]; ok && e.Time >= w.struck {
			w.match(e)
		}
	}
}

// hit is the event that the armed trigger waited for, nil while there is none.
func (w *Watch) hit() *histories.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.armed.hit
}

// within is how long to wait for t.
func (t Trigger) within() time.Duration {
	if t.Within > 0 {
		return t.Within
	}
	return 8 * time.Second
}
