package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"
)

// quorum is how many of the independent servers are a majority.
func quorum(e *env.Env) int { return len(e.Lock)/2 + 1 }

// quorumLease is one key with one token on independent servers.
type quorumLease struct {
	e          *env.Env
	key, token string
	until      time.Duration
	doubtful   bool // a server may have the key, or get it yet, without our knowing
}

func (s *quorumLease) Token() string { return s.token }

// Until implements env.Deadline.
func (s *quorumLease) Until() time.Duration { return s.until }

// set asks each server in turn for the key and answers how many said yes.
func (s *quorumLease) set(ctx context.Context, ttl time.Duration) (yes int) {
	s.doubtful = false
	for _, r := range s.e.Lock {
		ok, err := setIfMissing(ctx, r, s.key, s.token, ttl)
		if ok {
			yes++
		}
		s.doubtful = s.doubtful || env.Unknown(err)
	}
	return yes
}

// undo gives back what a failed attempt got from yes servers. It is in doubt
// unless it was told of each of them that the key is gone.
func (s *quorumLease) undo(ctx context.Context, yes int) error {
	if deleted, _ := s.delete(ctx); deleted < yes || s.doubtful {
		return fmt.Errorf("%w: no majority, and not all servers answered", env.ErrDoubt)
	}
	return nil
}

// delete deletes the key on all servers: on how many it was there, and an
// error if one may still have it.
func (s *quorumLease) delete(ctx context.Context) (deleted int, err error) {
	for _, r := range s.e.Lock {
		switch e := deleteIfMine(ctx, r, s.key, s.token); {
		case e == nil:
			deleted++
		case !errors.Is(e, env.ErrNotOwner):
			err = e
		}
	}
	return deleted, err
}

// Release deletes the key everywhere. It was ours if a majority still had it;
// as long as servers do not answer, it may have been.
func (s *quorumLease) Release(ctx context.Context) error {
	deleted, err := s.delete(ctx)
	switch {
	case deleted >= quorum(s.e):
		return nil
	case err != nil:
		return fmt.Errorf("%w: not all servers answered: %v", env.ErrDoubt, err)
	}
	return env.ErrNotOwner
}
