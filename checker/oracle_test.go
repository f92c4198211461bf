package checker_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

var physicalWorlds = flag.Int("physical", 2000, "physical worlds, honest ones and flawed ones each")

// No false alarm: a history of servers and workers that keep their promises
// is never invalid, whatever is lost, late, frozen, killed or failed over.
func TestHonestWorldsAreNeverInvalid(t *testing.T) {
	var conclusive atomic.Int64
	eachWorld(t, func(seed uint64) string {
		w := build(draw(seed, honest))
		v := judge(w)
		if v.Outcome == checker.Invalid {
			return w.tell(v, "invalid, though nothing was wrong")
		}
		if why := w.doubtMeasure(v.Zombie); why != "" {
			return w.tell(v, why)
		}
		if v.Counts.Grants > 0 && v.Outcome == checker.Valid {
			conclusive.Add(1)
		}
		return ""
	})
	if n := conclusive.Load(); n < int64(*physicalWorlds)/2 {
		t.Errorf("only %d of %d worlds were judged valid: that shows little", n, *physicalWorlds)
	}
}

// Whatever the checker reports of a flawed world has happened in it: the
// violation, and its cause.
func TestWhatIsReportedHasHappened(t *testing.T) {
	var mu sync.Mutex
	found := map[checker.Property]int{}
	missed := map[flaw]int{}
	causes := map[checker.Cause]int{}
	eachWorld(t, func(seed uint64) string {
		w := build(draw(seed, flaws[seed%uint64(len(flaws))]))
		v := judge(w)
		for _, x := range v.Violations {
			if why := w.doubt(&x); why != "" {
				return w.tell(v, fmt.Sprintf("%s %v (%s): %s", x.Property, x.Ops, x.Cause, why))
			}
		}
		if why := w.doubtMeasure(v.Zombie); why != "" {
			return w.tell(v, why)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, x := range v.Violations {
			found[x.Property]++
			if x.Property == checker.DoubleHold {
				causes[x.Cause]++
			}
		}
		if len(w.struck) > 0 && v.Outcome == checker.Valid {
			missed[w.flaw]++
		}
		if pair := w.overlap(); pair != "" && !slices.ContainsFunc(v.Violations, func(x checker.Violation) bool { return x.Property == checker.DoubleHold }) {
			return w.tell(v, "missed: "+pair)
		}
		if op := w.refusedInForce(); op != 0 && !slices.ContainsFunc(v.Violations, func(x checker.Violation) bool { return x.Property == checker.LeaseLost }) {
			return w.tell(v, fmt.Sprintf("missed: op %d was refused inside its lease", op))
		}
		return ""
	})
	t.Logf("reported, and true: %v; double holds by cause: %v; struck and nothing seen: %v", found, causes, missed)
	for _, p := range []checker.Property{
		checker.DoubleHold, checker.ForeignRelease, checker.LeaseGap, checker.FenceRegression, checker.LeaseLost, checker.ZombieTime, checker.StaleWrite,
		checker.Oversell, checker.DuplicateOrder, checker.StockMismatch,
	} {
		if found[p] == 0 && *physicalWorlds >= 2000 {
			t.Errorf("no world showed a %s: that shows little", p)
		}
	}
}

// eachWorld calls f for each seed on all cores, and fails at the first words.
func eachWorld(t *testing.T, f func(seed uint64) string) {
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := next.Add(1); seed <= int64(*physicalWorlds) && !failed.Load(); seed = next.Add(1) {
				if words := f(uint64(seed)); words != "" && !failed.Swap(true) {
					t.Errorf("world %d: %s", seed, words)
				}
			}
		})
	}
	all.Wait()
}

func judge(w *world) *checker.Verdict {
	h, err := histories.ReadJSON(bytes.NewReader(w.out))
	if err != nil {
		panic(fmt.Sprintf("world %d cannot be read: %v\n%s", w.seed, err, w.out))
	}
	return checker.Check(context.Background(), h, checker.Options{RecheckTime: -1, MaxListed: 1000})
}

// tell describes a world that the checker judged wrongly, and keeps its history.
func (w *world) tell(v *checker.Verdict, words string) string {
	name := fmt.Sprintf("%s/world-%d-*.jsonl", os.TempDir(), w.seed)
	if f, err := os.CreateTemp("", fmt.Sprintf("world-%d-*.jsonl", w.seed)); err == nil {
		f.Write(w.out)
		f.Close()
		name = f.Name()
	}
	list := ""
	for _, x := range v.Violations {
		list += fmt.Sprintf("\n  %s %v %s: %s (%s %s)", x.Property, x.Ops, x.Key, x.Summary, x.Cause, x.Because)
	}
	return fmt.Sprintf("flaw %q: %s\nhistory: %s%s", w.flaw, words, name, list)
}
