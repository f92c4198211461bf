package workload_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// run runs a spec to its end on a fake Redis and answers all events.
func run(t *testing.T, s workload.Spec) (events []histories.Event) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		clock := fakeClock{time.Now()}
		lock, stock := newFakeRedis(), newFakeRedis()
		wire := &fakeWire{clock: clock}
		s, err := s.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		if s.StockOn == workload.OnLock {
			stock = lock
		}
		director := fakeEnv(0, clock, lock, stock)
		if err := workload.Setup(ctx, director, s); err != nil {
			t.Fatal(err)
		}
		spec, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		for i := range s.Workers {
			go func() { ended <- workload.Program(ctx, spec, fakeEnv(i, clock, lock, stock), wire) }()
		}
		time.Sleep(s.TimeLimit)
		wire.enter(env.Quiet)
		time.Sleep(s.TTL)
		wire.enter(env.Final)
		time.Sleep(3 * (s.TTL + s.Grace + s.MaxDelay))
		wire.enter(env.Done)
		for range s.Workers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		audits, err := workload.Audit(ctx, director, s, stockKeys(wire.events))
		if err != nil {
			t.Fatal(err)
		}
		events = append(wire.events, audits...)
	})
	return events
}

// stockKeys are the keys of all sells.
func stockKeys(events []histories.Event) []string {
	var keys []string
	for _, e := range events {
		if e.F == histories.Sell && e.Key != "" && !slices.Contains(keys, e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// oversold counts units in orders beyond the stock there was.
func oversold(events []histories.Event, initial int64) (units int64) {
	for _, e := range events {
		if e.F == histories.Audit {
			sold := int64(0)
			for _, o := range e.Orders {
				sold += o.Qty
			}
			units += max(0, sold-initial)
		}
	}
	return units
}

func TestDesignsWithoutFaults(t *testing.T) {
	for _, d := range workload.Designs() {
		t.Run(d.Name, func(t *testing.T) {
			events := run(t, workload.Spec{Design: d.Name, TimeLimit: 20 * time.Second})
			over := oversold(events, 5)
			if want := d.Claims["none"].Business == workload.Breaks; (over > 0) != want {
				t.Errorf("oversold %d units, want some: %v", over, want)
			}
			if n := count(events, histories.Sell, histories.OK); n < 200 {
				t.Errorf("%d sells in 20 s: too few to mean anything", n)
			}
			wellFormed(t, events)
		})
	}
}

func count(events []histories.Event, f string, typ histories.Type) (n int) {
	for _, e := range events {
		if e.F == f && e.Type == typ {
			n++
		}
	}
	return n
}

// wellFormed checks what every history must have: one completion per
// invocation, one id per operation, parents that are open sells, and a last
// attempt on each SKU.
func wellFormed(t *testing.T, events []histories.Event) {
	t.Helper()
	open := map[int64]histories.Event{}
	used := map[int64]bool{}
	final := map[string]bool{}
	for i, e := range events {
		switch {
		case e.Process == histories.Auditor, e.F == histories.Lost:
		case e.Type == histories.Invoke:
			if used[e.Op] {
				t.Fatalf("event %d: op %d is used twice", i, e.Op)
			}
			used[e.Op] = true
			open[e.Op] = e
			if parent, ok := open[e.Parent]; e.F != histories.Sell && (!ok || parent.F != histories.Sell || parent.Process != e.Process) {
				t.Fatalf("event %d: %s %d is no step of an open sell", i, e.F, e.Op)
			}
			if e.F == histories.Sell && e.Final {
				sku, _, _ := cutBatch(e.Key)
				final[sku] = true
			}
		default:
			call, ok := open[e.Op]
			if !ok || call.F != e.F || call.Process != e.Process {
				t.Fatalf("event %d: %s %d completes nothing", i, e.F, e.Op)
			}
			delete(open, e.Op)
		}
	}
	if len(open) > 0 {
		t.Errorf("%d operations never completed", len(open))
	}
	if len(final) != 12 {
		t.Errorf("last attempts on %d SKUs, want 12", len(final))
	}
}

func TestProgramRefusesABadSpec(t *testing.T) {
	err := workload.Program(context.Background(), []byte(`{"design":"no-such"}`), nil, nil)
	if err == nil {
		t.Error("a design that does not exist was accepted")
	}
}

func cutBatch(key string) (sku, batch string, ok bool) { return strings.Cut(key, "#") }
