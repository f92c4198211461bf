package lockcheck

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// T is what Test needs of a *testing.T.
type T interface {
	Context() context.Context
	Helper()
	Errorf(format string, args ...any)
}

// Seeds is how many simulated runs Test makes of a design under one nemesis, with
// the seeds 1 to Seeds. The same seeds give the same runs.
const Seeds = 10

// Test makes simulated runs of a design under each of the nemeses, or under all
// that its servers can have if none is named, and fails t for each that breaks it,
// with the operations that prove it. A level at which the design's Claims say less
// than that it holds may break; without Claims none may. t fails too where no run
// under a nemesis meant anything.
//
// A run is as long as the Defaults of the design say, or 30 simulated seconds, which
// takes some tenths of a second.
func Test(t T, d workload.Design, nemeses ...string) {
	t.Helper()
	spec, err := d.Resolve(workload.Spec{})
	if err != nil {
		t.Errorf("design %q: %v", d.Name, err)
		return
	}
	named := len(nemeses) > 0
	if !named {
		nemeses = nemesis.Names()
	}
	for _, name := range nemeses {
		plan := run.Plan{Spec: spec, Nemesis: name}
		if err := run.Feasible(plan); err != nil {
			if named {
				t.Errorf("%s under %s: %v", d.Name, name, err)
			}
			continue
		}
		if problem := try(t.Context(), plan); problem != "" {
			t.Errorf("%s under %s%s", d.Name, name, problem)
		}
	}
}

// try looks for a run of the plan that is broken, and says what it found; "" if
// nothing.
func try(ctx context.Context, plan run.Plan) string {
	var meant atomic.Bool
	var reason atomic.Value
	found, _, err := run.Search(ctx, sim.New(sim.Config{}), Seeds, func(i int) run.Plan {
		p := plan
		p.Spec.Seed = uint64(i + 1)
		return p
	}, func(j *run.Judged) bool {
		if j.Verdict.Outcome == checker.Unknown {
			reason.Store(j.Verdict.Reason)
		} else {
			meant.Store(true)
		}
		return breaks(plan, j.Verdict)
	})
	switch {
	case err != nil:
		return ": " + err.Error()
	case found != nil:
		return fmt.Sprintf(", seed %d:\n%s", found.Plan.Spec.Seed, text(ctx, found))
	case ctx.Err() != nil:
		return ": " + ctx.Err().Error()
	case !meant.Load():
		return fmt.Sprintf(": no run decided anything: %v", reason.Load())
	}
	return ""
}

// breaks reports whether a verdict is worse than what the design claims.
func breaks(plan run.Plan, v *checker.Verdict) bool {
	d := plan.Spec.Of
	claim := d.Claim(plan.Nemesis)
	for level, promise := range map[checker.Level]workload.Promise{
		checker.LockLevel: claim.Lock, checker.UseLevel: claim.Use, checker.BusinessLevel: claim.Business,
	} {
		if v.Levels[level] == checker.Invalid && (d.Claims == nil || promise == workload.Holds) {
			return true
		}
	}
	return false
}

// text is the report of a run, judged once more with all that a single run may
// cost.
func text(ctx context.Context, j *run.Judged) string {
	var b strings.Builder
	v := checker.Check(ctx, j.History, checker.Options{})
	if err := report.Text(&b, report.Run{Header: j.History.Header, History: j.History, Verdict: v}, report.Style{}); err != nil {
		return err.Error()
	}
	return b.String()
}
