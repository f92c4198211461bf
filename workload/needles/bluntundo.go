package needles

import (
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// bluntUndo clears up after a failed attempt without comparing, on the servers that
// did not answer. Another holder loses its key there; if it had a bare majority, or loses
// a second server to the same, a third worker gets in.
var bluntUndo = Needle{
	Name:     "blunt-undo",
	Mistake:  "a failed attempt deletes the key without comparing on servers that did not answer",
	Rate:     1.2e-3, // 3 of 2577 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "loss", Variant: "lost-replies", Interval: 3 * time.Second, kind: env.Independent3,
	defaults: workload.Spec{SKUs: 2, Work: "1ms-20ms,2%:80%ttl-95%ttl", Think: "100ms-300ms"},
	spec:     histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &quorate{e, o, false, mistaken} }
	},
}
