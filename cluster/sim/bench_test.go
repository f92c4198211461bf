package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var unlock = env.NewScript("unlock", `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

// shopper takes a lock, reads and writes a stock, and releases, until the
// phase ends. It counts its commands.
func shopper(commands *int, think time.Duration) env.Worker {
	return func(ctx context.Context, _ []byte, e *env.Env, w env.Wire) error {
		redis := e.Lock[0]
		op := int64(e.Worker+1) << 32
		for w.Phase() == env.Running {
			key := fmt.Sprintf("sku-%d", e.Rand.IntN(5))
			token := fmt.Sprintf("%s/%d", e.Hostname, e.Rand.Uint64())
			op++
			w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.Invoke, F: histories.Acquire, Op: op, Key: key})
			got, err := redis.Do(ctx, "SET", "lock:"+key, token, "NX", "PX", 3000)
			*commands++
			if err != nil || got == nil {
				w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.Fail, F: histories.Acquire, Op: op})
				if err := e.Clock.Sleep(ctx, time.Duration(e.Rand.IntN(5))*time.Millisecond); err != nil {
					return err
				}
				continue
			}
			w.Emit(histories.Event{Process: histories.Process(e.Worker), Type: histories.OK, F: histories.Acquire, Op: op, Token: token})
			if think > 0 {
				if err := e.Clock.Sleep(ctx, think); err != nil {
					return err
				}
			}
			redis.Do(ctx, "GET", key)
			redis.Do(ctx, "SET", key, op)
			redis.Eval(ctx, unlock, []string{"lock:" + key}, token)
			*commands += 3
		}
		return nil
	}
}

func benchmarkShop(b *testing.B, top env.Topology, think time.Duration) {
	commands, cpu := 0, cpuTime(b)
	for i := range b.N {
		c, err := New(Config{}).Cell(b.Context(), cluster.Options{Topology: top, Seed: uint64(i), Workers: 10, Program: shopper(&commands, think)})
		if err != nil {
			b.Fatal(err)
		}
		err = c.Run(b.Context(), func(ctx context.Context) error {
			if err := c.StartWorkers(ctx); err != nil {
				return err
			}
			c.Sleep(ctx, 30*time.Second)
			c.SetPhase(env.Done)
			_, err := c.AwaitWorkers(ctx, 5*time.Second)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	used := (cpuTime(b) - cpu).Seconds()
	b.ReportMetric(float64(commands)/used, "commands/cpu-s")
	b.ReportMetric(used/float64(b.N), "cpu-s/run")
}

func BenchmarkThirtySecondsBusy(b *testing.B) {
	benchmarkShop(b, env.Topology{Lock: env.Single}, 0)
}

func BenchmarkThirtySecondsOfSales(b *testing.B) {
	benchmarkShop(b, env.Topology{Lock: env.Single}, 5*time.Millisecond)
}

func BenchmarkThirtySecondsReplicated(b *testing.B) {
	benchmarkShop(b, env.Topology{Lock: env.Sentinel}, 5*time.Millisecond)
}
