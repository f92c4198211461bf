package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// Quick judges by the exact checks alone where they decide: what many runs want.
// A run that is shown to somebody is judged in full, with the zero Options.
var Quick = checker.Options{RecheckTime: -1}

// Judged is a run with its history and the verdict on it.
type Judged struct {
	Result
	Plan     Plan
	History  *histories.History // nil if the run broke before it could be read back
	Verdict  *checker.Verdict   // nil with it
	Recorded []byte             // the history as it was written, in JSON Lines
	Started  time.Time
	Took     time.Duration // the run, in real time
	Checked  time.Duration // the judging
}

// Run records one run of a plan in memory and judges it. An error means that
// lockcheck or its environment broke; the Judged then has what there is. watch sees each
// event as it is recorded.
func Run(ctx context.Context, provider cluster.Provider, p Plan, o checker.Options, watch ...func(histories.Event)) (*Judged, error) {
	var out bytes.Buffer
	j := &Judged{Plan: p, Started: time.Now()}
	var err error
	j.Result, err = Record(ctx, provider, p, &out, watch...)
	j.Took, j.Recorded = time.Since(j.Started), out.Bytes()
	if err != nil {
		return j, err
	}
	return j, j.Judge(ctx, bytes.NewReader(j.Recorded), o)
}

// Judge reads the history of the run back and checks it: the history is all that
// counts. A run that was interrupted is judged all the same.
func (j *Judged) Judge(ctx context.Context, history io.Reader, o checker.Options) error {
	h, err := histories.ReadJSON(history)
	if err != nil {
		return fmt.Errorf("reading back the history: %w", err)
	}
	begin := time.Now()
	j.History, j.Verdict = h, checker.Check(context.WithoutCancel(ctx), h, o)
	j.Checked = time.Since(begin)
	return nil
}

// Search makes the runs plan(0) to plan(n-1), side by side where the provider is
// parallel, until one is broken, and answers that of the lowest number, whatever
// the machine. tried is that number and one more, or how many runs were whole
// without one. ctx ends the search early, which is no error. broken may be called
// by several goroutines.
func Search(ctx context.Context, provider cluster.Provider, n int, plan func(i int) Plan, broken func(*Judged) bool) (found *Judged, tried int, err error) {
	var (
		next, best, whole atomic.Int64
		mu                sync.Mutex
		wg                sync.WaitGroup
	)
	best.Store(int64(n))
	for range Lanes(provider) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= best.Load() || ctx.Err() != nil {
					return
				}
				j, failed := Run(ctx, provider, plan(int(i)), Quick)
				is := failed == nil && broken(j)
				if ctx.Err() == nil {
					whole.Add(1)
				}
				mu.Lock()
				switch {
				case failed != nil && ctx.Err() != nil:
				case failed != nil && err == nil:
					err = fmt.Errorf("seed %d: %w", j.Plan.Spec.Seed, failed)
					best.Store(min(i, best.Load()))
				case is && i < best.Load():
					found = j
					best.Store(i)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if found != nil {
		return found, int(best.Load()) + 1, nil
	}
	return nil, int(whole.Load()), err
}

// Lanes is how many runs go side by side on clusters of a provider.
func Lanes(provider cluster.Provider) int {
	if provider.Traits().Parallel {
		return runtime.GOMAXPROCS(0)
	}
	return 1
}
