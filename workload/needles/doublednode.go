package needles

import (
	"context"
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// doubledNode takes the lock on a majority of three servers. A server that does not
// answer is asked again, and counts again: one whose first reply was lost is a
// majority by itself. It breaks where another has the two other servers.
var doubledNode = Needle{
	Name:     "doubled-node",
	Mistake:  "a server whose first reply was lost is counted twice",
	Rate:     2.1e-3, // 4 of 1912 runs, seeds as in BenchmarkSearches
	Property: checker.DoubleHold, Meets: true, Nemesis: "loss", Variant: "lost-replies", Interval: 3 * time.Second, kind: env.Independent3,
	defaults: workload.Spec{SKUs: 12, Work: "1ms-20ms,0.1%:40%ttl-60%ttl", Think: "300ms-800ms"},
	spec:     histories.LockSpec{Deadline: true},
	lock: func(mistaken bool) lock.Maker {
		return func(e *env.Env, o lock.Options) env.Lock { return &quorate{e, o, mistaken, false} }
	},
}

// quorate takes a majority of independent servers.
type quorate struct {
	e       *env.Env
	o       lock.Options
	doubled bool // the mistake of doubledNode
	blunt   bool // the mistake of bluntUndo
}

// majority is a token on independent servers.
type majority struct{ *lease }

func (l *quorate) Acquire(ctx context.Context, key string) (env.Lease, error) {
	s := &majority{newLease(l.e, key)}
	err := polled(ctx, l.e, l.o, func() (bool, error) {
		s.until = l.e.Clock.Now() + l.o.TTL
		yes, silent := l.collect(ctx, s.lease)
		if 2*yes > len(l.e.Lock) && l.e.Clock.Now() < s.until {
			return true, nil
		}
		return false, l.undo(ctx, s, yes, silent)
	})
	return s, err
}

// collect asks every server, those that do not answer twice, and answers how many said yes
// and which never answered.
func (l *quorate) collect(ctx context.Context, s *lease) (yes int, silent []env.Redis) {
	for _, r := range l.e.Lock {
		ok, err := set(ctx, r, s.key, s.token, l.o.TTL)
		if env.Unknown(err) {
			if l.doubled {
				yes++ // the request was sent, so it counts
			}
			var value any
			value, err = r.Do(ctx, "GET", s.key)
			ok = err == nil && value == s.token
		}
		if err != nil {
			silent = append(silent, r)
		}
		if ok {
			yes++
		}
	}
	return yes, silent
}

// undo gives back what a failed attempt got.
func (l *quorate) undo(ctx context.Context, s *majority, yes int, silent []env.Redis) error {
	if l.blunt {
		for _, r := range silent {
			_, _ = r.Do(ctx, "DEL", s.key)
		}
	}
	if deleted, _ := s.delete(ctx); deleted < yes || len(silent) > 0 {
		return errors.Join(env.ErrDoubt, errors.New("not all servers answered"))
	}
	return nil
}

func (s *majority) delete(ctx context.Context) (deleted int, doubt error) {
	for _, r := range s.e.Lock {
		err := ifMine(ctx, r, deleteScript, s.key, s.token)
		if err == nil {
			deleted++
		} else if !certain(err) {
			doubt = errors.Join(env.ErrDoubt, err)
		}
	}
	return deleted, doubt
}

func (s *majority) Release(ctx context.Context) error {
	deleted, doubt := s.delete(ctx)
	switch {
	case 2*deleted > len(s.e.Lock):
		return nil
	case doubt != nil:
		return doubt
	}
	return env.ErrNotOwner
}
