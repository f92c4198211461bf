package stock

import (
	"context"
	"errors"

	"github.com/lockcheck/lockcheck/workload/env"
)

// RetryBlind is a known-bad sale: Locked through a client library that sends
// a request again when no answer came. DECRBY and RPUSH are not idempotent: an
// answer that is lost costs a unit, or makes the order two.
func RetryBlind(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	store := t.Env.Stock
	t.Env.Stock = resending{store}
	defer func() { t.Env.Stock = store }()
	return Locked(ctx, t, p)
}

// resends is how often such a library sends a request in all.
const resends = 3

// resending is a connection that sends again.
type resending struct{ env.Redis }

// Do implements env.Redis. (For the record, one try without an answer leaves
// all in doubt, whatever the last one says.)
func (r resending) Do(ctx context.Context, args ...any) (reply any, err error) {
	doubtful := false
	for range resends {
		reply, err = r.Redis.Do(ctx, args...)
		if !errors.Is(err, env.ErrTimeout) && !errors.Is(err, env.ErrReset) {
			break
		}
		doubtful = doubtful || env.Unknown(err)
	}
	if doubtful {
		err = doubt(err)
	}
	return reply, err
}

var _ Sale = RetryBlind
