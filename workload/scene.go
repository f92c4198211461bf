package workload

import "time"

// Scenes (--scene): how crowded the shop is. A claim to hold that was only
// ever tried in one of them has been tried by half.
const (
	// Standard has more articles than workers: keys are often free, which is
	// what a failover needs to lose a grant.
	Standard = "standard"
	// Contended has six workers for each of two articles, and faults that follow
	// each other closely: grants by a bare majority, locks that change hands in
	// the middle of a fault, many last units.
	Contended = "contended"
)

// contended are the settings of that scene, where the user has given no
// other. They go before the design's own.
var contended = Spec{Workers: 12, SKUs: 2}

// contendedInterval is the time between two faults of the contended scene.
const contendedInterval = 5 * time.Second

// Interval is the time between two faults that the scene asks for; 0: the
// nemesis' own.
func (s Spec) Interval() time.Duration {
	if s.Scene == Contended {
		return contendedInterval
	}
	return 0
}
