//go:build unix && !linux

package docker

import "syscall"

// dieWithParent is not possible here: a worker process ends when its stdin does.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
