package workload

import "time"

// LongWork is what counts as a long business step: the longest part of the
// Work distribution, from its lower end. Aimed faults wait for a step of that
// length, so that it is still under way when the fault has had its effect.
func (s Spec) LongWork() time.Duration {
	d, err := Durations(s.Work, s.TTL)
	if err != nil {
		return 0 // Resolved has said so already
	}
	var longest Part
	for _, p := range d {
		if p.To > longest.To {
			longest = p
		}
	}
	return time.Duration(longest.From)
}
