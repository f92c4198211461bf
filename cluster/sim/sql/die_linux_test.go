package sql

import (
	"os/exec"
	"syscall"
)

// dieWithTests has the kernel kill a program when the thread that started it ends.
func dieWithTests(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
