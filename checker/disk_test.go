package checker

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
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
	if err := writeOps(f, header, ops); err != nil {
		tb.Fatal(err)
	}
	return path
}

func writeOps(to io.Writer, header histories.Header, ops []histories.Op) error {
	w := bufio.NewWriterSize(to, 1<<20)
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	w.Write(append(head, '\n'))
	for _, e := range eventsOf(ops) {
		line, err := e.Line()
		if err != nil {
			return err
		}
		w.Write(append(line, '\n'))
	}
	return w.Flush()
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
// properties: 10⁵ and 10⁶ operations of 50 workers, 5 % of unknown outcome. The
// most memory that was resident meanwhile is told where the system tells it.
func BenchmarkFromDisk(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, keys := range []int{1, 100} {
			big := bigHistory{ops: n, workers: 50, keys: keys, unknown: 5, told: true}
			header := histories.Header{Format: histories.Format, Lock: lease, Initial: int64(n)}
			b.Run(fmt.Sprintf("lock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				fromDisk(b, writeHistory(b, header, big.locks()))
			})
			b.Run(fmt.Sprintf("stock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				fromDisk(b, writeHistory(b, header, big.sales()))
			})
		}
	}
}

func fromDisk(b *testing.B, path string) {
	debug.FreeOSMemory()
	resetPeak()
	for b.Loop() {
		h, err := histories.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		if v := Check(context.Background(), h, Options{}); v.Outcome == Invalid {
			b.Fatal(v.First().Summary)
		}
	}
	if kib := peakKiB(); kib > 0 {
		b.ReportMetric(float64(kib>>10), "MiB-peak")
	}
}

// resetPeak has the kernel count the peak of resident memory anew (proc(5)).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakKiB is the peak of resident memory, 0 if the system does not tell.
func peakKiB() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kib := 0
	fmt.Sscan(after, &kib)
	return kib
}
