package standalone_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/cluster/sim/standalone"
)

// serve starts a server and answers a client of it.
func serve(t *testing.T) (*standalone.Server, func(*redis.Options) *redis.Client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := standalone.New()
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = l.Close()
		s.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("serving ended with %v", err)
		}
	})
	return s, func(o *redis.Options) *redis.Client {
		o.Addr, o.MaxRetries = l.Addr().String(), -1
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

func TestAClientLibraryTakesALock(t *testing.T) {
	for _, version := range []int{2, 3} {
		ctx := context.Background()
		s, connect := serve(t)
		c := connect(&redis.Options{Protocol: version})
		if ok, err := c.SetNX(ctx, "lock", "a", time.Minute).Result(); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if ok, err := c.SetNX(ctx, "lock", "b", time.Minute).Result(); err != nil || ok {
			t.Fatal("taken twice", err)
		}
		release := redis.NewScript("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0")
		if n, err := release.Run(ctx, c, []string{"lock"}, "b").Int(); err != nil || n != 0 {
			t.Errorf("another's lock was released: %d, %v", n, err)
		}
		if n, err := release.Run(ctx, c, []string{"lock"}, "a").Int(); err != nil || n != 1 {
			t.Errorf("the lock was not released: %d, %v", n, err)
		}
		if got := s.Do("EXISTS", "lock"); got != int64(0) {
			t.Errorf("the lock is there: %v", got)
		}
	}
}

func TestATestMovesTheClock(t *testing.T) {
	ctx := context.Background()
	s, connect := serve(t)
	c := connect(&redis.Options{})
	if err := c.Set(ctx, "lease", "a", 5*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(ctx, "DEBUG", "ADVANCE", "4000").Err(); err != nil {
		t.Fatal(err)
	}
	if left, err := c.PTTL(ctx, "lease").Result(); err != nil || left > time.Second || left < 0 {
		t.Errorf("the lease has %v left, %v", left, err)
	}
	s.Advance(2 * time.Second)
	if n, err := c.Exists(ctx, "lease").Result(); err != nil || n != 0 {
		t.Errorf("the lease has not run out: %d, %v", n, err)
	}
}

func TestAReplyIsWithheld(t *testing.T) {
	ctx := context.Background()
	s, connect := serve(t)
	c := connect(&redis.Options{ReadTimeout: 100 * time.Millisecond})
	if err := c.Do(ctx, "DEBUG", "WITHHOLD", 1).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Incr(ctx, "n").Err(); err == nil {
		t.Error("the reply came")
	}
	if err := c.Incr(ctx, "n").Err(); err != nil {
		t.Errorf("another connection is not served: %v", err)
	}
	if got := s.Do("GET", "n"); got != "2" {
		t.Errorf("the command whose reply was withheld did not act: n is %v", got)
	}
}

func TestMessagesReachThoseWhoListen(t *testing.T) {
	ctx := context.Background()
	_, connect := serve(t)
	sub := connect(&redis.Options{}).Subscribe(ctx, "freed")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := connect(&redis.Options{}).Publish(ctx, "freed", "stock:sku-0").Result(); err != nil || n != 1 {
		t.Errorf("%d heard it, %v", n, err)
	}
	m, err := sub.ReceiveMessage(ctx)
	if err != nil || m.Payload != "stock:sku-0" {
		t.Errorf("message %v, %v", m, err)
	}
}

func TestOthersAreDisconnected(t *testing.T) {
	ctx := context.Background()
	s, connect := serve(t)
	a, b := connect(&redis.Options{PoolSize: 1}), connect(&redis.Options{PoolSize: 1})
	before := a.ClientID(ctx).Val()
	if err := b.Do(ctx, "DEBUG", "DISCONNECT").Err(); err != nil {
		t.Errorf("who disconnects others is disconnected: %v", err)
	}
	_ = a.Ping(ctx).Err() // may find out that its connection is gone
	if after := a.ClientID(ctx).Val(); after == before {
		t.Errorf("still connection %d", after)
	}
	if err := b.Do(ctx, "DEBUG", "SEGFAULT").Err(); err == nil {
		t.Error("a word that is none is taken")
	}
	_ = s
}
