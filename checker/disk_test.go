package checker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// writeHistory writes operations as the recorder would.
func writeHistory(tb testing.TB, header histories.Header, ops []histories.Op) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	head, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	w.Write(append(head, '\n'))
	for _, e := range eventsOf(ops) {
		line, err := e.Line()
		if err != nil {
			tb.Fatal(err)
		}
		w.Write(append(line, '\n'))
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// eventsOf takes operations apart again, in order of time.
func eventsOf(ops []histories.Op) []histories.Event {
	events := make([]histories.Event, 0, 2*len(ops))
	for i := range ops {
		op := &ops[i]
		call := histories.Event{Time: op.Call, Process: op.Process, Type: histories.Invoke, F: op.F, Op: op.ID, Key: op.Key, Order: op.Order}
		ret := histories.Event{
			Time: op.Return, Process: op.Process, Type: op.Outcome, F: op.F, Op: op.ID, Token: op.Token,
			Left: op.Left, Value: op.Value, Error: op.Error,
		}
		if op.F == histories.Release {
			call.Token = op.Token
		}
		if op.F == histories.Sell {
			call.Qty = op.Qty
		}
		events = append(events, call, ret)
	}
	slices.SortStableFunc(events, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	return events
}

// BenchmarkFromDisk goes from JSON Lines on disk to the verdict on all
// properties: 10⁶ operations of 50 workers, 5 % of unknown outcome.
func BenchmarkFromDisk(b *testing.B) {
	const n = 1_000_000
	for _, keys := range []int{1, 100} {
		big := bigHistory{ops: n, workers: 50, keys: keys, unknown: 5, told: true}
		for _, kind := range []string{"lock", "stock"} {
			b.Run(fmt.Sprintf("%s/keys=%d", kind, keys), func(b *testing.B) {
				ops := big.sales
				if kind == "lock" {
					ops = big.locks
				}
				path := writeHistory(b, histories.Header{Format: histories.Format, Lock: lease, Initial: n}, ops())
				runtime.GC()
				for b.Loop() {
					h, err := histories.ReadFile(path)
					if err != nil {
						b.Fatal(err)
					}
					if v := Check(context.Background(), h, Options{}); v.Outcome == Invalid {
						b.Fatal(v.First().Summary)
					}
				}
				var mem runtime.MemStats
				runtime.ReadMemStats(&mem)
				b.ReportMetric(float64(mem.Sys>>20), "MiB-sys")
			})
		}
	}
}
