// Package till is a lock as many shops have it: SET NX PX on one Redis, scripts
// that compare the token before they renew or delete. It knows nothing of
// lockcheck; till_test.go tests it.
package till

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// What Take, Renew and GiveBack say.
var (
	ErrTaken = errors.New("somebody else is at this till")
	ErrGone  = errors.New("the till is no longer ours")
)

// Till is a lock. Lease is how long it lasts without a renewal.
type Till struct {
	Redis redis.UniversalClient
	Lease time.Duration
}

// Turn is one hold on a till.
type Turn struct {
	till  Till
	key   string
	token string
	until time.Time
}

var (
	renew = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end return 0`)
	giveBack = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1]) end return 0`)
)

// Take takes the lock of a key, without waiting.
func (t Till) Take(ctx context.Context, key string) (*Turn, error) {
	turn := &Turn{till: t, key: key, token: rand.Text(), until: time.Now().Add(t.Lease)}
	taken, err := t.Redis.SetNX(ctx, key, turn.token, t.Lease).Result()
	if err == nil && !taken {
		err = ErrTaken
	}
	if err != nil {
		return nil, err
	}
	return turn, nil
}

// Until is when the lease ends. It counts from before the command was sent.
func (t *Turn) Until() time.Time { return t.until }

// Renew makes the lease as long again.
func (t *Turn) Renew(ctx context.Context) error {
	until := time.Now().Add(t.till.Lease)
	err := ours(renew.Run(ctx, t.till.Redis, []string{t.key}, t.token, t.till.Lease.Milliseconds()).Int())
	if err == nil {
		t.until = until
	}
	return err
}

// GiveBack releases the lock.
func (t *Turn) GiveBack(ctx context.Context) error {
	return ours(giveBack.Run(ctx, t.till.Redis, []string{t.key}, t.token).Int())
}

func ours(n int, err error) error {
	if err == nil && n == 0 {
		return ErrGone
	}
	return err
}
