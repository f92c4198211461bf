//go:build unix

package docker

import "syscall"

// dieWithParent has the kernel kill a worker process when lockcheck dies,
// even one that is stopped and cannot see its stdin end.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
