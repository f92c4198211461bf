// Package env is all that a lock design may touch of the world.
//
// A design gets an Env and nothing else: no time.Now, no time.Sleep, no go
// statement, no net, no global rand, no context.WithTimeout. So the same
// design runs against real servers in real time and against a simulation in
// virtual time, and one seed decides everything in the simulation. A test in
// workload/lock and workload/stock reads the source of the designs and
// rejects what is not allowed.
//
// Start with Env. The interfaces are implemented by cluster/sim and
// cluster/docker; errors and their classification are in outcome.go, what the
// harness and a worker say to each other in harness.go. The package imports
// only histories and protocol.
package env

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
)

// Env is the world of one worker.
type Env struct {
	Clock Clock
	Rand  *rand.Rand

	// Lock is the lock service: one endpoint, which follows a failover, or
	// several independent servers for Redlock. Empty if the topology has none.
	Lock []Redis
	// Replicas are the replicas of the lock's master, for designs that read
	// from them.
	Replicas []Redis
	// Stock is where stock and orders are kept, if in Redis. With
	// --stock-on=lock it is Lock[0].
	Stock Redis
	// SQL is where stock and orders are kept, if in SQL; else nil.
	SQL SQL
	// Queue is the message queue of the pipeline design; else nil.
	Queue Queue
	// Local is what the workers of one process share.
	Local Local
	// Own is the program that has this worker's lock, if the design is not one
	// of a catalogue but somebody's own; else nil.
	Own protocol.Child

	Worker   int    // number of the worker, unique in the run
	Life     int    // how often this worker was killed and started again
	Hostname string // of the worker's host
	PID      int    // of the worker's process: not unique among hosts

	// Extending records a renewal: call it right before the renewal is sent,
	// and call what it returns right after with how it ended. A nil err means
	// renewed, until (0: none shown) is the new deadline; ErrNotOwner means
	// refused; other errors are classified by Unknown.
	Extending func(key, token string) func(until time.Duration, err error)
	// Releasing names the lease of key that token is of, while it is the
	// newest, for releases that go on in the background when Release has
	// returned. Call again right before each of them is sent, and what it
	// returns right after, with how it ended.
	Releasing func(key, token string) (again func() (end func(err error)))
	// Breaking records the deletion of a lock that need not be this worker's:
	// by a janitor, or by hand. token is what was found there, "" if nobody
	// looked. A nil error means deleted, ErrNotOwner that nothing (or
	// something else than token) was there.
	Breaking func(key, token string) (end func(err error))

	// Step marks a place between two commands where a nemesis may crash,
	// pause or delay this worker ("before-expire", "before-release",
	// "commit"). It blocks for as long as the nemesis wants.
	Step func(ctx context.Context, name string) error
}

// Unrecorded is e with nothing recorded of what it does, and no steps to stop
// at: for setting up, for audits and for tests.
func Unrecorded(e *Env) *Env {
	e.Extending = func(string, string) func(time.Duration, error) { return func(time.Duration, error) {} }
	e.Releasing = func(string, string) func() func(error) { return func() func(error) { return func(error) {} } }
	e.Breaking = func(string, string) func(error) { return func(error) {} }
	e.Step = func(context.Context, string) error { return nil }
	return e
}

// Clock tells and spends time.
type Clock interface {
	// Now is the time since the start of the run on the monotonic clock that
	// all processes share. It never jumps.
	Now() time.Duration
	// Wall is this process's own wall clock, which a nemesis may skew.
	Wall() time.Time
	// Sleep waits for d, or until ctx ends: then it returns ctx.Err().
	Sleep(ctx context.Context, d time.Duration) error
	// Every calls f each d until stop is called, f returns false, or the
	// worker ends: the only concurrency that a design has. The first call
	// comes after d. stop does not wait for a call in flight.
	Every(ctx context.Context, d time.Duration, f func(context.Context) (again bool)) (stop func())
}

// Redis is one Redis endpoint. Each call has the connection's time-out; a
// time-out is an unknown outcome.
type Redis interface {
	// Do sends one command. The reply is nil (a null reply), int64, string
	// or []any of these. An error reply is a ServerError.
	Do(ctx context.Context, args ...any) (any, error)
	// Eval runs a Lua script, sent by its hash where the server knows it.
	Eval(ctx context.Context, script *Script, keys []string, args ...any) (any, error)
	// Pinned runs f with one connection of its own: WAIT counts the
	// acknowledgements of what was written on the same connection.
	Pinned(ctx context.Context, f func(Redis) error) error
	// Subscribe listens on a channel. next blocks for the next message, for
	// limit at most: then ok is false. stop ends the subscription.
	Subscribe(ctx context.Context, channel string) (next func(ctx context.Context, limit time.Duration) (message string, ok bool, err error), stop func(), err error)
}

// Script is a Lua script. Make one per script with NewScript.
type Script struct {
	Name, Source, SHA string
}

// SQL is one SQL endpoint (MariaDB or MySQL dialect), with ? placeholders.
// Rows are []any of nil, int64 and string.
type SQL interface {
	// Query and Exec run one statement outside a transaction, on any pooled
	// connection. Exec answers the number of rows changed.
	Query(ctx context.Context, query string, args ...any) ([][]any, error)
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Tx runs f in a transaction on one connection, at REPEATABLE READ, and
	// commits if f returns nil, else rolls back and returns f's error. An
	// error of the commit itself is of unknown outcome.
	Tx(ctx context.Context, f func(Tx) error) error
}

// Tx is one open transaction.
type Tx interface {
	Query(ctx context.Context, query string, args ...any) ([][]any, error)
	Exec(ctx context.Context, query string, args ...any) (int64, error)
}

// Queue is a durable message queue with at-least-once delivery.
type Queue interface {
	// Publish returns nil when the broker has confirmed the message.
	Publish(ctx context.Context, body string) error
	// Consume blocks for the next message, for limit at most: then ok is
	// false. ack confirms it. A message that is not confirmed by the next
	// Consume goes back to the queue and is delivered again.
	Consume(ctx context.Context, limit time.Duration) (body string, ack func(context.Context) error, ok bool, err error)
}

// Local is the memory that the workers of one process share.
type Local interface {
	// Enter joins the process-local FIFO queue called name and waits its turn,
	// for limit at most; ok is false if the time ran out. leave lets the next
	// one in.
	Enter(ctx context.Context, name string, limit time.Duration) (leave func(), ok bool, err error)
	// Add adds delta to the process's own number name (0 at first) and
	// answers the sum.
	Add(name string, delta int64) int64
}
