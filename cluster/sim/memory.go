package sim

import (
	"context"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// memory is the memory that the workers of one process share.
type memory struct {
	s      *vtime.Scheduler
	queues map[string]*queueName
	sums   map[string]int64
}

var _ env.Local = (*memory)(nil)

// queueName is one queue: the task that is in, and those that wait, first come first.
type queueName struct {
	taken bool
	line  []*entrant
}

type entrant struct {
	w  vtime.Waiter
	in bool
}

// Enter waits for its turn.
func (l *memory) Enter(ctx context.Context, name string, limit time.Duration) (func(), bool, error) {
	l.s.Count()
	if l.queues == nil {
		l.queues = map[string]*queueName{}
	}
	q := l.queues[name]
	if q == nil {
		q = &queueName{}
		l.queues[name] = q
	}
	if !q.taken {
		q.taken = true
		return l.leave(q), true, nil
	}
	e := &entrant{w: l.s.Waiter()}
	q.line = append(q.line, e)
	why := l.s.Wait(ctx, l.s.Now+limit)
	if e.in {
		return l.leave(q), true, nil
	}
	q.line = slices.DeleteFunc(q.line, func(o *entrant) bool { return o == e })
	if why == vtime.Cancelled {
		return nil, false, ctx.Err()
	}
	return nil, false, nil
}

// leave answers a function that lets the next one in, once.
func (l *memory) leave(q *queueName) func() {
	left := false
	return func() {
		if left || l.s.Current == nil || l.s.Current.Dead {
			return
		}
		left, q.taken = true, false
		for len(q.line) > 0 && !q.taken {
			next := q.line[0]
			q.line = q.line[1:]
			if !next.w.Task.Dead {
				next.in, q.taken = true, true
				next.w.Wake()
			}
		}
	}
}

// Add adds delta to a number.
func (l *memory) Add(name string, delta int64) int64 {
	l.s.Count()
	if l.sums == nil {
		l.sums = map[string]int64{}
	}
	l.sums[name] += delta
	return l.sums[name]
}
