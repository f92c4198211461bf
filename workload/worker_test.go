package workload_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// run runs a spec without faults on a simulated cluster and answers what was
// recorded.
func run(t *testing.T, s workload.Spec) *histories.History {
	t.Helper()
	ctx := t.Context()
	r, err := s.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	header := r.Header()
	header.Nemesis = "none"
	var lines bytes.Buffer
	recorder, err := histories.NewRecorder(&lines, header)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sim.New(sim.Config{}).Cell(ctx, cluster.Options{
		Topology: r.Topology(), Seed: r.Seed, Program: workload.Program, Spec: spec,
		Workers: r.Workers, PerHost: r.PerHost, Emit: recorder.Record,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx, func(ctx context.Context) error { return direct(ctx, c, r, recorder) }); err != nil {
		t.Fatal(err)
	}
	h, err := histories.ReadJSON(&lines)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// direct is a run without faults.
func direct(ctx context.Context, c cluster.Cluster, s workload.Resolved, recorder *histories.Recorder) error {
	sold := map[string]bool{}
	recorder.Observe(func(e histories.Event) {
		if e.F == histories.Sell && e.Key != "" {
			sold[e.Key] = true
		}
	})
	if err := workload.Setup(ctx, c.Env(), s); err != nil {
		return err
	}
	if err := c.StartWorkers(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		phase env.Phase
		long  time.Duration
	}{{env.Running, s.TimeLimit}, {env.Quiet, s.TTL}, {env.Final, 2 * (s.TTL + s.Grace + s.MaxDelay)}, {env.Done, 0}} {
		c.SetPhase(step.phase)
		if err := c.Sleep(ctx, step.long); err != nil {
			return err
		}
	}
	if killed, err := c.AwaitWorkers(ctx, time.Minute); err != nil || len(killed) > 0 {
		return fmt.Errorf("workers %v did not end: %w", killed, err)
	}
	keys := make([]string, 0, len(sold))
	for key := range sold {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	audits, err := workload.Audit(ctx, c.Env(), s, keys)
	for _, e := range audits {
		recorder.Record(e)
	}
	return err
}

// judge compares a verdict with a claim, level by level.
func judge(v *checker.Verdict, c workload.Claim) (problems []string) {
	for level, promise := range map[checker.Level]workload.Promise{
		checker.LockLevel: c.Lock, checker.UseLevel: c.Use, checker.BusinessLevel: c.Business,
	} {
		got := v.Levels[level]
		if promise == workload.Holds && got == checker.Invalid || promise == workload.Breaks && got != checker.Invalid {
			problems = append(problems, fmt.Sprintf("%s is %s, claimed: %v", level, got, promise))
		}
	}
	return problems
}

func TestWithoutFaultsEveryDesignIsWhatItClaims(t *testing.T) {
	for _, d := range workload.Designs() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			h := run(t, workload.Spec{Design: d.Name, TimeLimit: 20 * time.Second})
			v := checker.Check(t.Context(), h, checker.Options{RecheckTime: -1})
			for _, p := range judge(v, d.Claim("none")) {
				t.Error(p)
			}
			for _, w := range v.Violations {
				t.Logf("%s: %s", w.Property, w.Summary)
			}
			if v.Outcome == checker.Unknown && d.Name != "nested-deadlock" {
				t.Errorf("unknown: %s", v.Reason)
			}
			wellFormed(t, h)
		})
	}
}

// wellFormed checks what every run must have recorded: steps inside the sell
// that they belong to, every operation completed, and a last attempt on each
// SKU.
func wellFormed(t *testing.T, h *histories.History) {
	t.Helper()
	sells := map[int64]histories.Op{}
	final := map[string]bool{}
	for _, op := range h.Ops {
		if op.F != histories.Sell {
			continue
		}
		sells[op.ID] = op
		if sku, _, _ := strings.Cut(op.Key, "#"); op.Final {
			final[sku] = true
		}
	}
	for _, op := range h.Ops {
		if op.Return == histories.Never {
			t.Errorf("%s %d never completed", op.F, op.ID)
		}
		if op.F == histories.Break {
			continue // a janitor's, of no sale
		}
		if sell, ok := sells[op.Parent]; op.F != histories.Sell && (!ok || sell.Process != op.Process || op.Call < sell.Call) {
			t.Fatalf("%s %d is no step of a sell of its worker", op.F, op.ID)
		}
	}
	var skus int
	if _, err := fmt.Sscan(h.Header.Settings["skus"], &skus); err != nil || len(final) != skus {
		t.Errorf("last attempts on %d SKUs, want %d", len(final), skus)
	}
}

func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	s := workload.Spec{Design: "pubsub-lock", TimeLimit: 5 * time.Second, Seed: 7}
	a, b := run(t, s), run(t, s)
	if !slices.Equal(a.Ops, b.Ops) {
		t.Error("two runs of one seed differ")
	}
}

func TestMaxOpsLimitsWhatAWorkerBuys(t *testing.T) {
	h := run(t, workload.Spec{Design: "redis-lock", TimeLimit: 5 * time.Second, MaxOps: 3})
	for w := range histories.Process(10) {
		n := 0
		for _, op := range h.Ops {
			if op.F == histories.Sell && op.Process == w && !op.Final {
				n++
			}
		}
		if n != 3 {
			t.Errorf("worker %d made %d purchases, want 3", w, n)
		}
	}
}

func TestCustomersWhoComeAgainMeanTheSameOrder(t *testing.T) {
	h := run(t, workload.Spec{Design: "idempotent-lock", TimeLimit: 10 * time.Second})
	qty := map[string]int64{}
	replays := 0
	for _, op := range h.Ops {
		if op.F != histories.Sell {
			continue
		}
		if want := op.Customer + "@" + op.Key; op.Order != want {
			t.Fatalf("order %q of %s for %s, want %q", op.Order, op.Customer, op.Key, want)
		}
		if q, seen := qty[op.Order]; seen && q != op.Qty {
			t.Fatalf("order %s is for %d units, and for %d", op.Order, q, op.Qty)
		}
		qty[op.Order] = op.Qty
		if op.Replay {
			replays++
		}
	}
	if replays == 0 {
		t.Error("no customer ever came again")
	}
}

func TestAFlashSaleSellsExactlyWhatThereIs(t *testing.T) {
	for design, exact := range map[string]bool{
		"none": false, "redis-lock": true, "spin-lock": true, "lua-stock": true, "decr-rollback": true,
		"row-lock": true, "conditional-update": true, "pipeline": true,
	} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			h := run(t, workload.Spec{Design: design, Workload: workload.FlashSale, Workers: 100, PerHost: 10, Stock: 10, TimeLimit: 20 * time.Second})
			outcomes := map[string]int{}
			for _, op := range h.Ops {
				if op.F == histories.Sell && !op.Final && op.Error != histories.Busy {
					outcomes[string(op.Outcome)+" "+op.Error]++
				}
			}
			sold, refused := outcomes["ok "], outcomes["fail "+histories.SoldOut]
			if sold+refused != 100 {
				t.Errorf("%d of 100 customers were answered: %v", sold+refused, outcomes)
			}
			left := h.Audits[0].Value.N
			if got := sold == 10 && left == 0; got != exact {
				t.Errorf("sold %d of 10 units, %d left; want exactly 10 and 0: %v", sold, left, exact)
			}
		})
	}
}

func TestTheGrainOfTheLockDecidesWhatItGuards(t *testing.T) {
	for _, c := range []struct {
		grain string
		want  checker.Outcome
	}{
		{workload.GrainSKU, checker.Valid},
		{workload.GrainCategory, checker.Valid},
		{workload.GrainSegment, checker.Valid},
		{workload.GrainUserSKU, checker.Invalid}, // two customers, two locks, one stock
	} {
		t.Run(c.grain, func(t *testing.T) {
			t.Parallel()
			h := run(t, workload.Spec{Design: "redis-lock", LockKey: c.grain, SKUs: 4, TimeLimit: 20 * time.Second})
			v := checker.Check(t.Context(), h, checker.Options{RecheckTime: -1})
			if got := v.Levels[checker.BusinessLevel]; got != c.want {
				t.Errorf("business is %s, want %s", got, c.want)
			}
		})
	}
}

func TestAnOrderLeftInTheQueueIsLateNotLost(t *testing.T) {
	ctx := t.Context()
	s, err := workload.Spec{Design: "pipeline"}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	c, err := sim.New(sim.Config{}).Cell(ctx, cluster.Options{Topology: s.Topology(), Program: workload.Program, Workers: 1, PerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx, func(ctx context.Context) error {
		if err := workload.Setup(ctx, c.Env(), s); err != nil {
			return err
		}
		key := workload.StockKey(0, 0)
		order, err := json.Marshal(stock.Purchase{Key: key, Qty: 2, Order: "w0-1", Customer: "c0"})
		if err != nil {
			return err
		}
		for range 2 { // delivered twice, taken once
			if err := c.Env().Queue.Publish(ctx, string(order)); err != nil {
				return err
			}
		}
		audits, err := workload.Audit(ctx, c.Env(), s, []string{key})
		if err != nil {
			return err
		}
		want := []histories.Order{{ID: "w0-1", Qty: 2}}
		if a := audits[0]; a.Value.N != s.Stock-2 || !slices.Equal(a.Orders, want) {
			t.Errorf("the audit found %d units and orders %v, want %d and %v", a.Value.N, a.Orders, s.Stock-2, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestProgramRefusesABadSpec(t *testing.T) {
	for _, spec := range []string{"", `{"design":"no-such"}`, `{"design":"redis-lock","work":"soon"}`} {
		if err := workload.Program(context.Background(), []byte(spec), nil, nil); err == nil {
			t.Errorf("spec %q was accepted", spec)
		}
	}
}
