package child

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attributes has the kernel kill a child when lockcheck dies.
func attributes(joined bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: !joined, Pdeathsig: syscall.SIGKILL}
}

// exterminate kills all processes of the child, and names those that were left
// by a child that had ended.
func (c *Child) exterminate(ended bool) (left []string, err error) {
	limit := time.Now().Add(2 * time.Second)
	for round := 0; ; round++ {
		_ = c.signal(syscall.SIGKILL)
		alive := c.processes()
		if len(alive) == 0 && within(c.gone, time.Millisecond) {
			return left, nil
		}
		for _, p := range alive {
			if round == 0 && ended && within(c.gone, 0) {
				left = append(left, p.name)
			}
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if time.Now().After(limit) {
			return left, fmt.Errorf("%d processes of the child do not die", len(alive))
		}
		within(c.gone, time.Millisecond) // give them a moment to die
	}
}

type process struct {
	pid  int
	name string
}

// processes are those that live and carry the child's mark, or belong to its
// group. Both are passed on to whatever a process starts; the environment also
// to daemons, which leave group, session and parent.
func (c *Child) processes() (all []process) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	mark := []byte(Mark + "=" + c.mark + "\x00")
	for _, name := range stats {
		folder := filepath.Dir(name)
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		state, group := stat(name)
		if state == 'Z' || state == 'X' || state == 0 {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if group == c.PID() || bytes.Contains(environ, mark) {
			all = append(all, process{pid, commandOf(folder, pid)})
		}
	}
	return all
}

// stat is the state and the group of a process, 0 if it is gone.
func stat(name string) (state byte, group int) {
	text, err := os.ReadFile(name)
	end := bytes.LastIndexByte(text, ')') // the name of a program may hold anything
	if err != nil || end < 0 {
		return 0, 0
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 3 {
		return 0, 0
	}
	group, _ = strconv.Atoi(string(fields[2]))
	return fields[0][0], group
}

// commandOf is how people know a process.
func commandOf(folder string, pid int) string {
	text, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
	command := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	if len(command) > 60 {
		command = command[:60] + "…"
	}
	return fmt.Sprintf("%d (%s)", pid, command)
}
