//go:build unix

package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// owner names the process that made a container, a network or a worker: its
// number, and when it was started, because numbers come again. Clean leaves
// alone what belongs to a process that is alive.
func owner() string { return identity(os.Getpid()) }

// machine tells this machine from others that use the same engine. It stays the
// same when the machine is started again.
func machine() string {
	name, _ := os.Hostname()
	id, _ := os.ReadFile("/etc/machine-id")
	sum := sha256.Sum256([]byte(name + "\n" + string(id)))
	return hex.EncodeToString(sum[:6])
}

func identity(pid int) string { return fmt.Sprintf("%d-%s", pid, startOf(pid)) }

// startOf is when a process was started, in ticks since the machine was; ""
// where /proc does not say.
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may have blanks
	fields := strings.Fields(rest)
	const start = 22 - 3 // field 22 of proc(5); the first of rest is field 3
	if len(fields) <= start {
		return ""
	}
	return fields[start]
}

// alive reports whether the process that owner named still runs here.
func alive(owner string) bool {
	var pid int
	if _, err := fmt.Sscanf(owner, "%d-", &pid); err != nil || pid <= 0 {
		return false
	}
	return syscall.Kill(pid, 0) != syscall.ESRCH && !zombie(pid) && identity(pid) == owner
}
