package locktest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/checker"
)

// ours is a lock as shops write it, with the mistakes that are asked for.
type ours struct {
	c          redis.UniversalClient
	ttl        time.Duration
	plainDEL   bool // releases whatever is there
	takesAnew  bool // renews by taking the lock
	noDeadline bool // does not tell when the lease is over
}

var tokens atomic.Int64

var (
	unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	renew  = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
)

func (o ours) Acquire(ctx context.Context, key string) (Hold, error) {
	h := &ourHold{lock: o, key: key, token: fmt.Sprint(tokens.Add(1)), until: time.Now().Add(o.ttl)}
	taken, err := o.c.SetNX(ctx, key, h.token, o.ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return nil, ErrBusy
	case o.noDeadline:
		return struct{ Hold }{h}, nil
	}
	return h, nil
}

type ourHold struct {
	lock       ours
	key, token string
	until      time.Time
}

func (h *ourHold) Until() time.Time { return h.until }

func (h *ourHold) Extend(ctx context.Context) error {
	until := time.Now().Add(h.lock.ttl)
	if h.lock.takesAnew {
		err := h.lock.c.Set(ctx, h.key, h.token, h.lock.ttl).Err()
		if err == nil {
			h.until = until
		}
		return err
	}
	err := owned(renew.Run(ctx, h.lock.c, []string{h.key}, h.token, h.lock.ttl.Milliseconds()).Int())
	if err == nil {
		h.until = until
	}
	return err
}

func (h *ourHold) Release(ctx context.Context) error {
	if h.lock.plainDEL {
		return h.lock.c.Del(ctx, h.key).Err()
	}
	return owned(unlock.Run(ctx, h.lock.c, []string{h.key}, h.token).Int())
}

func owned(n int, err error) error {
	if err == nil && n == 0 {
		return ErrNotOwner
	}
	return err
}

// The correct lock bears what a lease on one server can bear.
func TestTheCorrectLockHolds(t *testing.T) {
	Test(t, Config{Expect: Breaks("restart", "clock")}, func(c redis.UniversalClient) Lock { return ours{c: c, ttl: 5 * time.Second} })
}

// found plays scenes of a lock under a nemesis until one breaks it.
func found(t *testing.T, nemesis string, o ours) *scene {
	t.Helper()
	o.ttl = 5 * time.Second
	s := subject{Config: Config{Nemeses: []string{nemesis}}, servers: 1, make: func(c []redis.UniversalClient) Lock {
		mine := o
		mine.c = c[0]
		return mine
	}}
	if err := s.settle(t); err != nil {
		t.Fatal(err)
	}
	sc, err := s.search(t, nemesis)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func TestPlantedMistakesAreFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		lock    ours
		nemesis string
		want    checker.Property
	}{
		{"a release by plain DEL", ours{plainDEL: true}, "pause", checker.ForeignRelease},
		{"a renewal that takes the lock anew", ours{takesAnew: true}, "pause", checker.DoubleHold},
		{"a holder that is not told when its lease is over", ours{noDeadline: true}, "pause", checker.DoubleHold},
	} {
		t.Run(test.name, func(t *testing.T) {
			begin := time.Now()
			sc := found(t, test.nemesis, test.lock)
			if sc == nil {
				t.Fatalf("not found")
			}
			t.Logf("seed %d, %v", sc.seed, time.Since(begin))
			has := false
			for _, v := range sc.verdict.Violations {
				has = has || v.Property == test.want
			}
			if report, err := sc.keep(t.TempDir()); err != nil {
				t.Error(err)
			} else if page, err := os.ReadFile(report); err != nil || !bytes.Contains(page, []byte(test.want)) {
				t.Errorf("no %s in the report: %v", test.want, err)
			}
			if !has {
				t.Errorf("want %s in\n%s", test.want, sc.text())
			}
		})
	}
}
