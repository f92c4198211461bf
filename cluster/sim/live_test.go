package sim

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// living runs servers in a bubble, where dial connects with them, and calls play
// outside of the simulation.
func living(t *testing.T, cfg LiveConfig, play func(t *testing.T, l *Live, dial func(context.Context, string, string) (net.Conn, error))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, err := NewLive(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- l.Run(ctx, func(ctx context.Context) error {
				for ctx.Err() == nil {
					_ = l.Cluster().Sleep(ctx, time.Hour)
				}
				return nil
			})
		}()
		play(t, l, func(ctx context.Context, _, address string) (net.Conn, error) { return l.Dial(ctx, address) })
		time.Sleep(20 * time.Second) // what a client that was closed has to end
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// hurt does a fault.
func hurt(t *testing.T, l *Live, f histories.Fault) {
	t.Helper()
	if _, err := l.Inject(t.Context(), f); err != nil {
		t.Error(err)
	}
}

// A client that asks the Sentinels for the master finds the new one, without the
// lock that was not replicated. (go-redis' FailoverClient holds a mutex while it
// waits for the network, which a bubble cannot bear: internal/command tests it.)
func TestALockIsLostAtFailover(t *testing.T) {
	var roles []string
	cfg := LiveConfig{Topology: env.Sentinel, Seed: 1, MasterName: "mymaster", Emit: func(e histories.Event) {
		if e.F == histories.Promoted {
			roles = append(roles, e.Targets...)
		}
	}}
	living(t, cfg, func(t *testing.T, l *Live, dial func(context.Context, string, string) (net.Conn, error)) {
		ctx := context.Background()
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: l.Address("sentinel-2"), Dialer: dial})
		c := redis.NewClient(&redis.Options{Addr: "the master", Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			at, err := sentinel.GetMasterAddrByName(ctx, "mymaster").Result()
			if err != nil {
				return nil, err
			}
			return dial(ctx, network, net.JoinHostPort(at[0], at[1]))
		}})
		take := func(key, when string) {
			if ok, err := c.SetNX(ctx, key, "a", time.Minute).Result(); err != nil || !ok {
				t.Errorf("%s, %s: %v, %v", key, when, ok, err)
			}
		}
		take("kept", "at first")
		time.Sleep(time.Second)
		hurt(t, l, histories.Fault{F: histories.Partition, From: []string{histories.RoleMaster}, To: []string{histories.RoleReplicas}})
		take("lost", "when the replicas are cut off")
		hurt(t, l, histories.Fault{F: histories.Kill, Targets: []string{histories.RoleMaster}})
		time.Sleep(8 * time.Second)
		take("lost", "after the failover")
		if n, err := c.Exists(ctx, "kept").Result(); err != nil || n != 1 {
			t.Errorf("after the failover the replicated lock is there %d times, %v", n, err)
		}
		_ = c.Close()
		_ = sentinel.Close()
	})
	if len(roles) != 1 || roles[0] == "redis-1" {
		t.Errorf("promoted were %v, want one of the replicas", roles)
	}
}

func TestAClusterClientFindsItsServers(t *testing.T) {
	living(t, LiveConfig{Topology: env.RedisCluster, Seed: 1}, func(t *testing.T, l *Live, dial func(context.Context, string, string) (net.Conn, error)) {
		ctx := context.Background()
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{l.Address("redis-1")}, Dialer: dial})
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			if ok, err := c.SetNX(ctx, key, "1", time.Minute).Result(); err != nil || !ok {
				t.Errorf("%s: %v, %v", key, ok, err)
			}
		}
		_ = c.Close()
	})
}

func TestWhatTakesAKey(t *testing.T) {
	for _, c := range []struct {
		args  []string
		reply any
		key   string
	}{
		{[]string{"SET", "k", "v", "NX"}, "OK", "k"},
		{[]string{"set", "k", "v", "PX", "5", "nx"}, "OK", "k"},
		{[]string{"SET", "k", "v", "NX"}, nil, ""},
		{[]string{"SET", "k", "NX"}, "OK", ""},
		{[]string{"SETNX", "k", "v"}, int64(1), "k"},
		{[]string{"SETNX", "k", "v"}, int64(0), ""},
	} {
		if key, took := taken(c.args, c.reply); key != c.key || took != (c.key != "") {
			t.Errorf("%v, %v: key %q, %v", c.args, c.reply, key, took)
		}
	}
}
