//go:build unix

package process

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// stopHere stops this process, and returns when it has been resumed. The signal
// goes to the calling thread: one to the process may be taken by another thread,
// while this one goes on and sends its next request.
func stopHere() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
}
