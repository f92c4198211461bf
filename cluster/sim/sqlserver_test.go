package sim

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var relational = cluster.Options{Topology: env.Topology{SQL: true}, Workers: 4}

// stocked makes a table with one row.
func (r *rig) stocked(ctx context.Context, n int) {
	r.t.Helper()
	for _, q := range []string{"CREATE TABLE stock (sku VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL)", fmt.Sprintf("INSERT INTO stock VALUES ('a', %d)", n)} {
		if _, err := r.Env().SQL.Exec(ctx, q); err != nil {
			r.t.Fatalf("%s: %v", q, err)
		}
	}
}

func (r *rig) left(ctx context.Context) any {
	r.t.Helper()
	rows, err := r.Env().SQL.Query(ctx, "SELECT n FROM stock WHERE sku = ?", "a")
	if err != nil || len(rows) != 1 {
		r.t.Fatalf("rows %v: %v", rows, err)
	}
	return rows[0][0]
}

func TestRowLockMakesBuyersWait(t *testing.T) {
	for seed := range uint64(10) {
		r := newRig(t, Config{}, seeded(relational, seed, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
			err := e.SQL.Tx(ctx, func(tx env.Tx) error {
				rows, err := tx.Query(ctx, "SELECT n FROM stock WHERE sku = ? FOR UPDATE", "a")
				if err != nil {
					return err
				}
				if rows[0][0].(int64) < 1 {
					return errors.New("sold out")
				}
				e.Clock.Sleep(ctx, 20*time.Millisecond)
				_, err = tx.Exec(ctx, "UPDATE stock SET n = ? WHERE sku = ?", rows[0][0].(int64)-1, "a")
				return err
			})
			note(e, w, outcome("ok", err))
		})))
		r.direct(func(ctx context.Context) {
			r.stocked(ctx, 3)
			r.start(ctx)
			r.AwaitWorkers(ctx, time.Minute)
			if got := r.left(ctx); got != int64(0) {
				t.Errorf("seed %d: %v left", seed, got)
			}
		})
		sold := map[string]int{}
		for _, n := range r.notes() {
			sold[n[2:]]++
		}
		if diff := cmp.Diff(map[string]int{"ok": 3, "sold out": 1}, sold); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	}
}

func TestWhatBecomesOfATransaction(t *testing.T) {
	sql := []string{"sql"}
	tests := []struct {
		name  string
		fault histories.Fault
		undo  histories.Fault
		want  string // what the worker is told
		left  int64  // of 5 units
	}{
		{"a killed server forgets what was not committed", histories.Fault{F: histories.Kill, Targets: sql, Mode: "process"}, histories.Fault{F: histories.Start, Targets: sql}, "refused", 5},
		{"a killed connection rolls back", histories.Fault{F: histories.Kill, Targets: sql, Mode: "connection"}, histories.Fault{}, "refused", 5},
		{"a killed worker's transaction rolls back", histories.Fault{F: histories.Kill, Targets: []string{"worker-0"}}, histories.Fault{}, "", 5},
		{"a frozen worker goes on and commits", histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}}, histories.Fault{F: histories.Resume, Targets: []string{"worker-0"}}, "OK", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := seeded(relational, 1, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
				err := e.SQL.Tx(ctx, func(tx env.Tx) error {
					if _, err := tx.Exec(ctx, "UPDATE stock SET n = n - 1 WHERE sku = ?", "a"); err != nil {
						return err
					}
					e.Clock.Sleep(ctx, time.Second)
					_, err := tx.Query(ctx, "SELECT n FROM stock WHERE sku = ?", "a")
					return err
				})
				note(e, w, outcome("OK", err))
			}))
			o.Workers = 1
			r := newRig(t, Config{}, o)
			r.direct(func(ctx context.Context) {
				r.stocked(ctx, 5)
				r.start(ctx)
				r.sleep(ctx, 500*time.Millisecond)
				r.inject(ctx, tt.fault)
				if tt.undo.F != "" {
					r.inject(ctx, tt.undo)
				}
				r.AwaitWorkers(ctx, time.Minute)
				if got := r.left(ctx); got != tt.left {
					t.Errorf("%v left", got)
				}
			})
			var want []string
			if tt.want != "" {
				want = []string{"0 " + tt.want}
			}
			if diff := cmp.Diff(want, r.notes()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A client that gives up waiting for a row lock has not taken its statement
// back: the server goes on waiting, and acts.
func TestStatementOfAClientThatLeftActsLate(t *testing.T) {
	r := newRig(t, Config{}, seeded(relational, 1, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		switch e.Worker {
		case 0:
			e.SQL.Tx(ctx, func(tx env.Tx) error {
				tx.Exec(ctx, "UPDATE stock SET n = n - 1 WHERE sku = ?", "a")
				return e.Clock.Sleep(ctx, 3*time.Second)
			})
		case 1:
			e.Clock.Sleep(ctx, 500*time.Millisecond)
			_, err := e.SQL.Exec(ctx, "UPDATE stock SET n = n - 1 WHERE sku = ?", "a")
			note(e, w, outcome("OK", err))
		}
	})))
	r.direct(func(ctx context.Context) {
		r.stocked(ctx, 5)
		r.start(ctx)
		r.AwaitWorkers(ctx, time.Minute)
		r.sleep(ctx, time.Second)
		if got := r.left(ctx); got != int64(3) {
			t.Errorf("%v left", got)
		}
	})
	if diff := cmp.Diff([]string{"1 timeout"}, r.notes()); diff != "" {
		t.Error(diff)
	}
}

// A lock of GET_LOCK lives as long as its connection, in a transaction or not.
func TestUserLockGoesWithItsConnection(t *testing.T) {
	o := seeded(relational, 1, runs(func(ctx context.Context, e *env.Env, w env.Wire) {
		e.Clock.Sleep(ctx, time.Duration(e.Worker)*500*time.Millisecond)
		rows, err := e.SQL.Query(ctx, "SELECT GET_LOCK(?, 0)", "stock:a")
		if err != nil {
			note(e, w, err.Error())
			return
		}
		note(e, w, fmt.Sprint(rows[0][0]))
		e.Clock.Sleep(ctx, 10*time.Second)
	}))
	o.Workers = 3
	r := newRig(t, Config{}, o)
	r.direct(func(ctx context.Context) {
		r.start(ctx)
		r.sleep(ctx, 750*time.Millisecond)
		r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"sql"}, Mode: "connection"})
		r.AwaitWorkers(ctx, time.Minute)
	})
	if diff := cmp.Diff([]string{"0 1", "1 0", "2 1"}, r.notes()); diff != "" {
		t.Error(diff)
	}
}
