package sim

import "time"

// wall is a machine's own wall clock. It is right until a fault makes it
// jump or drift.
type wall struct {
	offset time.Duration // ahead of the true time, when it was last set
	drift  float64       // gains this share since then
	set    time.Duration // when that was
}

// epoch is the true wall-clock time at the start of every run.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ahead is how far the clock is ahead of the true time at the moment now.
func (w wall) ahead(now time.Duration) time.Duration {
	return w.offset + time.Duration(w.drift*float64(now-w.set))
}

func (w wall) at(now time.Duration) time.Time {
	return epoch.Add(now + w.ahead(now))
}

// skew makes the clock jump by offset and then gain drift, or what it gained
// before if that is 0.
func (w *wall) skew(now, offset time.Duration, drift float64) {
	if drift == 0 {
		drift = w.drift
	}
	*w = wall{offset: w.ahead(now) + offset, drift: drift, set: now}
}

// right sets the clock right.
func (w *wall) right() { *w = wall{} }
