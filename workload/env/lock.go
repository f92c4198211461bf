package env

import (
	"context"
	"time"
)

// Lock is a lock design, bound to the Env of one worker.
type Lock interface {
	// Acquire takes the lock on key, waiting for it as long as the design
	// does. ErrBusy: another has it. After an error of unknown outcome the
	// Lease may be non-nil all the same: its Release removes what may have
	// been left behind.
	Acquire(ctx context.Context, key string) (Lease, error)
}

// Lease is a lock that was granted. What a design can do besides it says by
// implementing Extender, Deadline, Notice or Fence too.
type Lease interface {
	// Token is what the server holds for this lease; "" if the server knows
	// no owner. Where a design is wrong it need not be unique.
	Token() string
	// Release gives the lock back. ErrNotOwner: it was not ours any more.
	Release(ctx context.Context) error
}

// Extender is a lease that its worker can renew.
type Extender interface {
	// Extend moves the lease's end to a TTL from now, and records that by
	// Env.Extending.
	Extend(ctx context.Context) error
}

// Deadline is a lease that shows its worker when it ends.
type Deadline interface {
	// Until is on Clock.Now. Renewals move it.
	Until() time.Duration
}

// Notice is a lease that tells its worker when it is gone.
type Notice interface {
	// OnLost has f called, once, when the loss is noticed; at once if it
	// has been already.
	OnLost(f func())
}

// Janitor is a lock that somebody has to tidy up after: worker 0 calls Tidy
// each Rounds, beside its sales, until the run is done. What Tidy deletes it
// announces by Env.Breaking.
type Janitor interface {
	Rounds() time.Duration
	Tidy(ctx context.Context)
}

// Fence is a lease with a number that grows with each grant of a key.
type Fence interface {
	Fence() int64
}
