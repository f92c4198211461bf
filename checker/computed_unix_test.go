//go:build unix

package checker

import (
	"syscall"
	"time"
)

// computed is the processor time of this process so far.
func computed() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
