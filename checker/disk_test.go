package checker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker/internal/sample"
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
	if err := sample.Write(f, header, ops); err != nil {
		tb.Fatal(err)
	}
	return path
}

// BenchmarkFromDisk goes from JSON Lines on disk to the verdict on all
// properties: 10⁵ and 10⁶ operations of 50 workers, 5 % of unknown outcome. The
// most memory that was resident meanwhile is told where the system tells it.
func BenchmarkFromDisk(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, keys := range []int{1, 100} {
			big := sample.Large{Ops: n, Workers: 50, Keys: keys, Unknown: 5, Told: true}
			header := histories.Header{Format: histories.Format, Lock: histories.LockSpec{TTL: 10 * time.Second}, Initial: int64(n)}
			b.Run(fmt.Sprintf("lock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				fromDisk(b, writeHistory(b, header, big.Locks()))
			})
			b.Run(fmt.Sprintf("stock/ops=%d/keys=%d", n, keys), func(b *testing.B) {
				fromDisk(b, writeHistory(b, header, big.Sales()))
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
