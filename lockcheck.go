// Package lockcheck shows whether a lock keeps a shop from selling more than it
// has, and under which fault it stops doing so.
//
// It is the door for other programs. A lock of your own is a workload.Design: a
// value with a name and a constructor of an env.Lock. Test makes it a test of your
// own module; Main gives your binary the whole command line, with your design
// beside those of lockcheck:
//
//	func main() { os.Exit(lockcheck.Main(turnstile.Design)) }
//
// examples/turnstile is such a module. To look closer, package run makes single
// runs and hands out their histories and verdicts, package checker judges a
// history from anywhere, and docs/architecture.md has the map.
package lockcheck

import (
	"os"
	"path/filepath"

	"github.com/lockcheck/lockcheck/internal/command"
	"github.com/lockcheck/lockcheck/workload"
)

// Main is the command line of lockcheck with designs of the caller's own, which
// run runs where no --design is given. It returns the exit code. The program has
// real servers if it imports package cluster/servers.
func Main(designs ...workload.Design) int {
	program := command.Program{Own: designs}
	if len(designs) > 0 {
		program.Name = filepath.Base(os.Args[0])
	}
	return program.Main(os.Args[1:])
}
