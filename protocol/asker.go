package protocol

import "context"

// Child is a child that says that it is ready, as those who use its lock see
// it: a process in real time (package child) or one in virtual time.
type Child interface {
	// Ready is what it said of itself.
	Ready() Ready
	// Ask asks and waits for the answer, which is unknown if ctx ends first,
	// and refused if the request could not be sent. One at a time.
	Ask(ctx context.Context, r Request) Answer
	// Listen has f called for each note from now on. f must not ask.
	Listen(f func(Note))
}
