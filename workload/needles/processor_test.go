//go:build unix

package needles_test

import (
	"syscall"
	"testing"
	"time"
)

// processor is the processor time that this process has used, in seconds.
func processor(t testing.TB) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
