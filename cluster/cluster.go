// Package cluster says what a cluster is: something that runs servers and
// workers, keeps the time, and can be hurt.
//
// There are two: cluster/sim simulates everything in virtual time, so that
// one seed decides a whole run; cluster/docker runs real servers in
// containers and workers as processes. Everything else in lockcheck (the
// designs, the workload, the nemeses, the checker, the report) is the same on
// both and sees only the interfaces of this package and of workload/env.
//
// Start with Provider, which lends a Cluster for each cell of a run, and with
// Cluster itself.
package cluster

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Options are what a cell wants of a cluster. The zero value of a field is
// its documented default.
type Options struct {
	Topology env.Topology
	Seed     uint64
	Turns    Turns      // of its random numbers; virtual time only
	Program  env.Worker // of every worker (sim); docker starts `lockcheck worker`, which runs the same
	Spec     []byte     // JSON, for Program
	Own      *Own       // the user's own program, one beside each worker; nil: none
	Workers  int        // how many; default 10
	PerHost  int        // workers that share one process; default 1

	// Emit records events. It is called by one goroutine at a time, in the
	// order in which events arrived.
	Emit func(histories.Event)

	CallTimeout time.Duration // of one request of a worker; default 1 s
	DownAfter   time.Duration // of Sentinel; default 800 ms
}

// Own is a program that speaks the protocol (package protocol). The cluster
// runs it: it is env.Env.Own of a worker, and is hurt with it.
type Own struct {
	Command []string       // the program and its arguments
	Hello   protocol.Hello // without what the cluster knows: who it is, and addresses
}

// Effect is what injecting a fault did.
type Effect struct {
	Targets []string // roles resolved to names; of worker processes those of all their workers
	Proof   string   // what showed that it took effect: "redis-1 does not answer PING (timeout)"
	// At is when a worker came to the step at which it was paused; 0 for
	// faults that wait for nobody.
	At time.Duration
}

// ErrUnavailable says that this cluster cannot have that fault, and why.
var ErrUnavailable = errors.New("fault not available here")

// Cluster is one set of servers and workers for the length of one cell.
// Hosts of workers are named worker-0, worker-1, … by their first worker.
type Cluster interface {
	// Source tells people where a verdict comes from: "simulated Redis",
	// "Redis 7.0.15".
	Source() string
	// Nodes are the names of the servers.
	Nodes() []string
	// Env is the director's own world: it sees all servers, no fault touches
	// its links, and its calls are recorded nowhere.
	Env() *env.Env

	// Run calls director in this cluster's time and returns when it has
	// returned and all that was started has ended or been ended. Now, Sleep,
	// Await, Go and the rest may only be called inside it.
	Run(ctx context.Context, director func(context.Context) error) error
	// Now is the time since the start of Run.
	Now() time.Duration
	Sleep(ctx context.Context, d time.Duration) error
	// Await waits until ready, which is looked at after each recorded event
	// and at least every few milliseconds. It reports false after limit.
	Await(ctx context.Context, limit time.Duration, ready func() bool) bool
	// Go runs f beside the director.
	Go(ctx context.Context, name string, f func(context.Context))

	// StartWorkers starts all workers; SetPhase moves them on;
	// AwaitWorkers waits until all have ended, for limit at most, kills the
	// others and names them.
	StartWorkers(ctx context.Context) error
	SetPhase(env.Phase)
	AwaitWorkers(ctx context.Context, limit time.Duration) (killed []string, err error)

	// Inject does a fault and looks whether it took effect. What that means is
	// the same on every cluster: package cluster/inject.
	// ErrUnavailable: this cluster cannot have it.
	Inject(ctx context.Context, f histories.Fault) (Effect, error)
	// Heal undoes every fault: starts, resumes, reconnects, sets clocks right.
	Heal(ctx context.Context) error
	// Healthy waits until every server answers and replication is in order.
	Healthy(ctx context.Context, limit time.Duration) error
}

// Logger is a Cluster whose servers write logs.
type Logger interface {
	// Logs calls keep with what each server has written since the cluster was
	// lent. It is called after Run; ctx bounds it.
	Logs(ctx context.Context, keep func(server string, log io.Reader) error) error
}

// Provider lends clusters.
type Provider interface {
	// Traits say what it can do.
	Traits() Traits
	// Cell returns a healthy, empty cluster: one at a time unless Traits say
	// that it is parallel.
	Cell(ctx context.Context, o Options) (Cluster, error)
	// Close removes everything that the provider made. ctx bounds it.
	Close(ctx context.Context) error
}
