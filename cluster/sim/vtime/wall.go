package vtime

import "time"

// Wall is a machine's own wall clock. It is right until a fault makes it
// jump or drift.
type Wall struct {
	offset time.Duration // ahead of the true time, when it was last set
	drift  float64       // gains this share since then
	set    time.Duration // when that was
}

// Epoch is the true wall-clock time at the start of every run that is not paced.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Ahead is how far the clock is ahead of the true time at the moment now.
func (w Wall) Ahead(now time.Duration) time.Duration {
	return w.offset + time.Duration(w.drift*float64(now-w.set))
}

func (w Wall) At(now time.Duration) time.Time {
	return Epoch.Add(now + w.Ahead(now))
}

// Skew makes the clock jump by offset and then gain drift, or what it gained
// before if that is 0.
func (w *Wall) Skew(now, offset time.Duration, drift float64) {
	if drift == 0 {
		drift = w.drift
	}
	*w = Wall{offset: w.Ahead(now) + offset, drift: drift, set: now}
}

// Right sets the clock right.
func (w *Wall) Right() { *w = Wall{} }
