//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// stopHere stops this process. Worker processes run on Linux; elsewhere it
// compiles.
func stopHere() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
