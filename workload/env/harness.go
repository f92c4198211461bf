package env

import (
	"context"

	"github.com/lockcheck/lockcheck/histories"
)

// Topology is what a design needs to run on.
type Topology struct {
	Lock        Kind
	Stock       bool   // a separate Redis for the stock, named stock-1; else the stock is on the lock's master
	SQL         bool   // a MariaDB, named sql-1
	Queue       bool   // a RabbitMQ (sim: a broker of its own), named queue-1
	Persistence string // of the lock's nodes: "none" (default), "everysec", "always"
}

// Phase is what workers do at the moment. The harness moves it forward.
type Phase int32

// The phases of a run, in order.
const (
	Running Phase = iota // buy, under faults
	Quiet                // finish what was begun, then wait
	Final                // one last attempt each: can the lock be acquired again?
	Done                 // end
)

var phases = [...]string{"running", "quiet", histories.PhaseFinal, "done"}

func (p Phase) String() string { return phases[p] }

// Wire is a worker's link with the harness. Designs do not see it.
type Wire interface {
	// Emit records an event before the worker takes its next step. It sets
	// the time if that is zero.
	Emit(histories.Event)
	Phase() Phase
}

// Patient is a Wire on which a worker can wait for a phase without looking at it
// again and again.
type Patient interface {
	Wire
	// Await returns when the phase has begun, or with ctx.Err().
	Await(ctx context.Context, p Phase) error
}

// Worker is the program of one worker. spec is JSON from the run; e.Worker
// is the worker's number. It returns when the phase is Done.
type Worker func(ctx context.Context, spec []byte, e *Env, w Wire) error
