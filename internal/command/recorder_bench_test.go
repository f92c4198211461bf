//go:build unix && !sim

package command

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/cluster/docker"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// What both loops of BenchmarkRecorderCost do.
const (
	benchWorkers = 10
	benchSKUs    = 12
	benchFor     = 22 * time.Second
	benchWarmUp  = 2 * time.Second // not counted: processes start, connections are made
)

// perSecond makes a throughput of the sells that were counted.
func perSecond(sells int) float64 { return float64(sells) / (benchFor - benchWarmUp).Seconds() }

// shopping is how long the customers of a loop work and think.
type shopping struct{ name, work, think string }

// The default customers of run, the same without the few long holds (whose
// number in a run is chance), and busy ones who show the most that recording can
// cost.
var shoppings = []shopping{
	{name: "default"},
	{name: "short", work: "1ms-20ms"},
	{name: "busy", work: "1ms", think: "0s"},
}

// BenchmarkRecorderCost compares redis-lock as lockcheck runs and records it
// with the same loop in plain go-redis, on the same servers, one after the
// other: sells/s of both, and what the recorded one keeps.
//
//	go test ./internal/command -run xxx -bench RecorderCost -benchtime 1x
func BenchmarkRecorderCost(b *testing.B) {
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		b.Skipf("no Docker engine: %v: %.200s", err, out)
	}
	b.Setenv(asProgram, "1") // workers are this executable
	provider, err := docker.New(b.Context(), docker.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := provider.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	for _, s := range shoppings {
		b.Run(s.name, func(b *testing.B) {
			for b.Loop() {
				recorded := recordedSells(b, provider, s)
				plain := plainSells(b, s)
				b.ReportMetric(recorded, "recorded-sells/s")
				b.ReportMetric(plain, "plain-sells/s")
				b.ReportMetric(100*recorded/plain, "%kept")
			}
		})
	}
}

// spec is the workload of a loop.
func (s shopping) spec(b *testing.B) workload.Resolved {
	spec, err := workload.Spec{
		Design: "redis-lock", Seed: 1, Workers: benchWorkers, SKUs: benchSKUs, Stock: 1e9, Batches: 1,
		Work: s.work, Think: s.think, Qty: "1", MaxDelay: time.Second, TimeLimit: benchFor,
	}.Resolved()
	if err != nil {
		b.Fatal(err)
	}
	return spec
}

// recordedSells is the throughput of a run.
func recordedSells(b *testing.B, p *docker.Provider, s shopping) float64 {
	var out bytes.Buffer
	plan := run.Plan{Spec: s.spec(b), Nemesis: "none", TimeLimit: benchFor}
	if _, err := run.Record(b.Context(), p, plan, &out); err != nil {
		b.Fatal(err)
	}
	h, err := histories.ReadJSON(&out)
	if err != nil {
		b.Fatal(err)
	}
	sells := 0
	for _, op := range h.Ops {
		counted := op.Return >= int64(benchWarmUp) && op.Return < int64(benchFor)
		if op.F == histories.Sell && op.Outcome == histories.OK && counted {
			sells++
		}
	}
	return perSecond(sells)
}

// addressOf is the address of one of this process's containers.
func addressOf(b *testing.B, server string) string {
	owned := fmt.Sprintf("%d-", os.Getpid())
	out, err := exec.Command("docker", "ps", "--filter", "label=lockcheck", "--format", `{{.Label "lockcheck.owner"}} {{.Names}}`).Output()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		owner, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(owner, owned) || !strings.HasSuffix(name, "-"+server) {
			continue
		}
		ip, err := exec.Command("docker", "inspect", "-f", `{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}`, name).Output()
		if err != nil {
			b.Fatal(err)
		}
		return strings.TrimSpace(string(ip)) + ":6379"
	}
	b.Fatalf("no container %s", server)
	return ""
}

var plainRelease = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

// plainSells is the throughput of the loop in plain go-redis.
func plainSells(b *testing.B, s shopping) float64 {
	lock, stock := addressOf(b, "redis-1"), addressOf(b, "stock-1")
	spec := s.spec(b)
	work, err := workload.Durations(spec.Work, spec.TTL)
	if err != nil {
		b.Fatal(err)
	}
	think, err := workload.Durations(spec.Think, spec.TTL)
	if err != nil {
		b.Fatal(err)
	}
	var sells atomic.Int64
	ctx, cancel := context.WithTimeout(b.Context(), benchFor)
	defer cancel()
	var wg sync.WaitGroup
	start := time.Now()
	for worker := range benchWorkers {
		wg.Go(func() {
			shop := plainShop{
				lock:  redis.NewClient(&redis.Options{Addr: lock, MaxRetries: -1}),
				stock: redis.NewClient(&redis.Options{Addr: stock, MaxRetries: -1}),
				rand:  rand.New(rand.NewPCG(1, uint64(worker))), worker: worker, work: work, ttl: spec.TTL,
			}
			defer shop.lock.Close()
			defer shop.stock.Close()
			for n := 0; ctx.Err() == nil; n++ {
				wait(ctx, time.Duration(think.Draw(shop.rand)))
				if shop.sell(ctx, n) && time.Since(start) >= benchWarmUp {
					sells.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return perSecond(int(sells.Load()))
}

// plainShop is one worker without lockcheck.
type plainShop struct {
	lock, stock *redis.Client
	rand        *rand.Rand
	worker      int
	work        workload.Distribution
	ttl         time.Duration
}

func (s *plainShop) sell(ctx context.Context, n int) bool {
	sku := s.rand.IntN(benchSKUs)
	key, token := fmt.Sprintf("plain:lock:%d", sku), fmt.Sprintf("%d#%d", s.worker, n)
	if !s.acquire(ctx, key, token) {
		return false
	}
	defer plainRelease.Run(ctx, s.lock, []string{key}, token)
	stock := fmt.Sprintf("plain:stock:%d", sku)
	if err := s.stock.Get(ctx, stock).Err(); err != nil && err != redis.Nil {
		return false
	}
	wait(ctx, time.Duration(s.work.Draw(s.rand)))
	if s.stock.DecrBy(ctx, stock, 1).Err() != nil {
		return false
	}
	return s.stock.RPush(ctx, stock+":orders", token).Err() == nil
}

// acquire tries as often as redis-lock does, as far apart.
func (s *plainShop) acquire(ctx context.Context, key, token string) bool {
	for try := range 4 {
		if try > 0 {
			wait(ctx, 50*time.Millisecond+time.Duration(s.rand.IntN(50))*time.Millisecond)
		}
		if ok, err := s.lock.SetNX(ctx, key, token, s.ttl).Result(); ok || err != nil {
			return err == nil
		}
	}
	return false
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
