// Package preload runs a program that knows nothing of lockcheck in virtual
// time.
//
// A small library, written in C and loaded by LD_PRELOAD, makes every blocking
// call of the program a conversation with this package: the program runs until
// it would block, and says until when; whatever it has sent by then can be read
// without waiting. So one program at a time runs, and a scheduler that decides
// who goes on, and what time it is, decides everything. Clocks, sleeps,
// time-outs, random numbers, the process id, the host's name and connections to
// internet addresses are the scheduler's.
//
// It holds dynamic programs with one thread that matters: PHP, Python, Ruby,
// Perl, and Node as far as it does not wait for its own threads. Static
// programs, Go and the JVM cannot be held; Check says so before they start. It
// needs Linux (x86-64 or arm64) and, once, a C compiler: Library compiles the
// source that is embedded here and keeps the result in the user's cache folder.
//
// Start with Start and Process.Step. What the connections lead to is not this
// package's business: it hands bytes on. cluster/sim has the network.
package preload

import (
	"bytes"
	_ "embed"
	"errors"
	"time"
)

// source is the library's source.
//
//go:embed lib/preload.c
var source string

// Errors of programs that cannot be held.
var (
	// ErrNoCompiler: there is no C compiler, and no library from before.
	ErrNoCompiler = errors.New("no C compiler")
	// ErrCannotHold: this program, or what it does, is out of the library's
	// reach. What wraps it says why.
	ErrCannotHold = errors.New("cannot be held in virtual time")
	// ErrSilent: a program neither blocked nor ended for too long in real time.
	ErrSilent = errors.New("it computes, or waits for something that is not held, for too long")
)

// Forever is the deadline of a program that waits without one.
const Forever = time.Duration(-1)

// Options say how a program is started.
type Options struct {
	Command []string // the program and its arguments
	Dir     string   // its folder; empty: the caller's
	Env     []string // its environment; nil: the caller's

	Clock    Clock   // while it starts
	Seed     uint64  // of all random numbers that it asks the system for
	Hostname string  // that it is told; default "worker"
	PID      int     // that it is told; default 1
	Local    [4]byte // the address of its end of connections

	// Limit is how long, in real time, it may run without blocking; default 20 s.
	Limit time.Duration
}

// Clock is what a program reads from its clocks.
type Clock struct {
	Mono time.Duration // CLOCK_MONOTONIC and its like
	Wall time.Time     // CLOCK_REALTIME
}

// Dial is a connection that a program has begun to make. It stands when
// Process.Connect says so, and fails when Process.Refuse does.
type Dial struct {
	Slot    int    // names the connection
	Address string // "10.8.0.1:6379"
}

// Sent is what a program has sent on a connection.
type Sent struct {
	Slot   int
	Bytes  []byte
	Closed bool // it has closed the connection, after these bytes
}

// Report is what a program did until it blocked or ended.
type Report struct {
	Dials  []Dial // in their order
	Sent   []Sent // by slot
	Output []byte // to its standard output
	// Until is when it wants to go on at the latest: a moment of Clock.Mono, or
	// Forever.
	Until time.Duration
	// Ended: it is no more. Status is what it left: "exit status 1".
	Ended  bool
	Status string
}

// LastWords are what a program wrote to its log before it ended, after ": "; empty if
// it wrote nothing. Of many lines they are the first, which names the error, and the
// last.
func (p *Process) LastWords() string {
	log := bytes.TrimSpace(p.Log())
	first, rest, _ := bytes.Cut(log, []byte("\n"))
	words := string(bytes.TrimSpace(first))
	if rest = bytes.TrimSpace(rest[bytes.LastIndexByte(rest, '\n')+1:]); len(rest) > 0 {
		words += " … " + string(rest)
	}
	if words == "" {
		return ""
	}
	return ": " + words
}

// Failure is why a connection does not come about.
type Failure uint8

// The failures of a connection.
const (
	Refused     Failure = 3 // ECONNREFUSED
	TimedOut    Failure = 4 // ETIMEDOUT: the kernel gave up
	Unreachable Failure = 5 // EHOSTUNREACH
)
