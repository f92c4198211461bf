//go:build !unix

package child

import (
	"errors"
	"syscall"
)

const (
	stopSignal   = syscall.SIGKILL
	resumeSignal = syscall.SIGKILL
	termSignal   = syscall.SIGTERM
)

// available says that children cannot be had here: there are no process groups
// to pause and to end.
func available() error {
	return errors.New("programs of your own need Linux, macOS or another Unix")
}

func (c *Child) signal(syscall.Signal) error { return available() }

func attributes(bool) *syscall.SysProcAttr { return nil }

func (c *Child) exterminate(bool) ([]string, error) { return nil, c.cmd.Process.Kill() }
