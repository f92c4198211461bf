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

// signal sends a signal to the group, or to the process if the group is not its
// own. Who is gone has got it.
func (c *Child) signal(s syscall.Signal) error {
	to := -c.PID()
	if c.cfg.Joined {
		to = c.PID()
		if within(c.gone, 0) {
			return nil
		}
	}
	if err := syscall.Kill(to, s); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
