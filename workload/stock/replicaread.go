package stock

import "context"

// ReplicaRead is a known-bad sale: under a good lock it reads the stock from
// a replica, to spare the master, and sets what it has worked out.
//
// Replication is asynchronous, so the replica may not have the sale before
// this one yet. It breaks whenever the next buyer is quicker than the
// replication, and always while the replica is cut off.
func ReplicaRead(ctx context.Context, t *Till, p Purchase) (Receipt, error) {
	lease, err := t.Acquire(ctx, p.LockKey)
	if err != nil {
		return Receipt{}, err
	}
	defer t.Release(ctx, lease)

	replica := t.Env.Replicas[t.Env.Rand.IntN(len(t.Env.Replicas))]
	seen, err := t.Read(ctx, p.Key, func() (int64, error) { return number(replica.Do(ctx, "GET", p.Key)) })
	if err != nil {
		return Receipt{}, err
	}
	if seen < p.Qty {
		return soldOut(seen)
	}
	if err := t.Work(ctx, p); err != nil {
		return Receipt{}, err
	}
	return overwrite(ctx, t, p, seen)
}

var _ Sale = ReplicaRead
