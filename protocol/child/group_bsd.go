//go:build unix && !linux

package child

import "syscall"

func attributes(joined bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: !joined} }

// exterminate ends the group. What has left it cannot be found here.
func (c *Child) exterminate(bool) ([]string, error) { return nil, c.signal(syscall.SIGKILL) }
