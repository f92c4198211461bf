package vtime

import (
	"sync"
	"time"
)

// Pacer holds a Scheduler to a clock outside of it, that of the machine or of a
// bubble of testing/synctest, and lets other goroutines in. Give it to the
// Scheduler before Run.
//
// A run that is paced is not decided by its seed alone: what comes from outside
// comes when it comes.
type Pacer struct {
	epoch time.Time // what wall clocks show at the start of Run

	mu    sync.Mutex
	start time.Time // of Run; zero: not yet
	calls []func()
	woken chan struct{} // has a token when there are calls
}

// NewPacer makes a pacer.
func NewPacer() *Pacer { return &Pacer{epoch: time.Now(), woken: make(chan struct{}, 1)} }

// Epoch is the true wall-clock time at the start of a run: Epoch, or that of the
// clock outside if it is paced.
func (s *Scheduler) Epoch() time.Time {
	if s.Pacer != nil {
		return s.Pacer.epoch
	}
	return Epoch
}

// Do has f called as an event of the moment at which the scheduler comes to it,
// after those that it was called for before. It does not wait. After the end of
// Run f is never called.
func (p *Pacer) Do(f func()) {
	p.mu.Lock()
	p.calls = append(p.calls, f)
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// Now is the time since the start of Run; 0 before.
func (p *Pacer) Now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start.IsZero() {
		return 0
	}
	return time.Since(p.start)
}

func (p *Pacer) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.start = time.Now()
}

func (p *Pacer) take() (calls []func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls, p.calls = p.calls, nil
	return calls
}

// longestWait is how long a paced scheduler waits without a sign of life.
const longestWait = time.Second

// keepPace waits until the next event is due, or lets in who waits outside. It
// reports whether that was all that is to be done now.
func (s *Scheduler) keepPace() bool {
	now, wait := s.Pacer.Now(), longestWait
	if !s.queue.empty() {
		if s.queue.first() <= now {
			return false
		}
		wait = min(wait, s.queue.first()-now)
	}
	s.Progress.Add(1)
	calls := s.Pacer.take()
	if len(calls) == 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.Pacer.woken:
		}
		return true
	}
	s.Now, s.instant = max(s.Now, now), 0
	for _, f := range calls {
		f()
		s.unwindKilled()
	}
	s.wakeCancelled()
	return true
}
