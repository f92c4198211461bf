//go:build !linux || (!amd64 && !arm64)

package preload

import (
	"fmt"
	"runtime"
)

// Process is a program in virtual time. Here it does not exist.
type Process struct{}

// Start says that this system has no way to hold a program.
func Start(string, Options) (*Process, error) {
	return nil, fmt.Errorf("a program %w on %s/%s: that needs Linux on x86-64 or arm64", ErrCannotHold, runtime.GOOS, runtime.GOARCH)
}

// Step does nothing.
func (*Process) Step(Clock) (Report, error) { return Report{Ended: true}, ErrCannotHold }

// Connect does nothing.
func (*Process) Connect(int) {}

// Fail does nothing.
func (*Process) Fail(int, Failure) {}

// Deliver does nothing.
func (*Process) Deliver(int, []byte) {}

// Hangup does nothing.
func (*Process) Hangup(int) {}

// Input does nothing.
func (*Process) Input([]byte) {}

// CloseInput does nothing.
func (*Process) CloseInput() {}

// Terminate does nothing.
func (*Process) Terminate() {}

// Kill does nothing.
func (*Process) Kill() {}

// Log is empty.
func (*Process) Log() []byte { return nil }
