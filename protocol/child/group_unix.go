//go:build unix

package child

import (
	"errors"
	"syscall"
)

const (
	stopSignal   = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
	termSignal   = syscall.SIGTERM
)

func available() error { return nil }

// signal sends a signal to the group. A group that is gone has got it.
func (c *Child) signal(s syscall.Signal) error {
	if err := syscall.Kill(-c.PID(), s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
