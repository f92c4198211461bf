// Package lockcheck is the door to lockcheck for other programs.
package lockcheck

import (
	"os"

	"github.com/lockcheck/lockcheck/internal/command"
)

// Main is the whole command line of lockcheck. It returns the exit code.
func Main() int { return command.Main(os.Args[1:]) }
