//go:build unix

package explore

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what this process has used of all cores. On a machine that
// others use as well it says more than the clock does.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
