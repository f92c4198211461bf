// Command lockcheck shows whether a lock design keeps a shop from selling
// more than it has: it runs stock operations under the lock, hurts the
// servers and workers meanwhile, and judges the recorded history.
//
// The command line is in internal/command, which any program can have with
// its own designs: see package lockcheck at the root of the module.
package main

import (
	"os"

	"github.com/lockcheck/lockcheck"
	_ "github.com/lockcheck/lockcheck/cluster/servers" // --cluster=docker
)

func main() { os.Exit(lockcheck.Main()) }
