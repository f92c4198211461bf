package command

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// The names of the clusters.
const (
	onSim    = "sim"
	onDocker = "docker"
)

// runFlags are the flags of run, and in part of search and bench.
type runFlags struct {
	set       *pflag.FlagSet
	design    string
	nemesis   string
	cluster   string
	variant   string
	schedule  string
	image     string
	store     string
	format    string
	expect    string
	shard     string
	seed      uint64
	runs      int
	allRuns   bool
	warnings  []string
	measure   bool // bench: the speed of each cell
	timeLimit time.Duration
	interval  time.Duration
	downAfter time.Duration
	spec      workload.Spec
}

// runRun runs every cell that the flags name and judges each.
func runRun(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "run")
	if err := parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	cells, err := f.cells()
	if err != nil {
		return 0, err
	}
	if err := f.begin(a); err != nil {
		return exitBroken, err
	}
	provider, err := f.provider(ctx)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	progress := newProgress(a.stderr, len(cells))
	all := f.runCells(ctx, provider, cells, progress)
	progress.done()
	// Whatever happened, nothing is left running.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	closeErr := provider.Close(closing)
	code, err := a.conclude(ctx, f, all, started)
	return code, errors.Join(err, closeErr)
}

func newRunFlags(a *app, verb string) *runFlags {
	f := &runFlags{set: a.flags(verb)}
	s := f.set
	s.StringVar(&f.design, "design", "all", "design, or several with commas, or all, controls, known-bad")
	s.StringVar(&f.nemesis, "nemesis", "failover", "nemesis; with commas: each in turn; with +: together in one run; all; mixed")
	s.StringVar(&f.variant, "variant", "", "play only this variant of the nemesis (lockcheck list NEMESIS)")
	s.StringVar(&f.cluster, "cluster", onSim, "sim (simulated, virtual time) or docker (real servers)")
	s.Uint64Var(&f.seed, "seed", 0, "decides everything random (default: a new one, printed first)")
	s.IntVar(&f.runs, "runs", 0, "runs of a cell, with new seeds; on sim at most so many: the first invalid one ends them (default: sim 3, or 20 where a design claims to break; docker 1)")
	s.BoolVar(&f.allRuns, "all-runs", false, "make all runs of a cell, however many are invalid: 31 of 100 is a rate (docker does so always)")
	s.DurationVar(&f.timeLimit, "time-limit", 30*time.Second, "how long faults go on in a run")
	s.DurationVar(&f.interval, "interval", 0, "between two faults (default 9s)")
	s.DurationVar(&f.downAfter, "down-after", 0, "how long a master must be silent for Sentinel (default 800ms; 3s under restart)")
	s.StringVar(&f.schedule, "schedule", "", "replay the fault schedule in this file")
	specFlags(s, &f.spec)
	s.StringVar(&f.image, "image", "", "docker: base image, Debian-based, of redis or valkey or of plain Debian")
	s.StringVar(&f.store, "store", "store", "folder for the runs' histories and reports")
	s.StringVar(&f.format, "format", "text", "text, json, junit or markdown")
	s.StringVar(&f.expect, "expect", "", "claims: exit 0 if every verdict is what the design claims")
	s.StringVar(&f.shard, "shard", "", "i/n: only the i-th of n parts of the cells")
	return f
}

// specFlags are the settings of the workload. 0 or "" means the design's own
// default, which is the article's where it has one.
func specFlags(s *pflag.FlagSet, w *workload.Spec) {
	s.StringVar(&w.Workload, "workload", "", "stock (default), or flash-sale: 1,000 customers at once for 100 units")
	s.StringVar(&w.Scene, "scene", "", "standard (default), or contended: 12 workers, 2 SKUs, a fault every 5s")
	s.IntVar(&w.Workers, "concurrency", 0, "workers (default 10)")
	s.IntVar(&w.PerHost, "per-host", 0, "workers that share one process (default 1)")
	s.IntVar(&w.MaxOps, "max-ops", 0, "sells per worker (default: no limit)")
	s.IntVar(&w.SKUs, "skus", 0, "SKUs on sale (default 12)")
	s.Int64Var(&w.Stock, "stock", 0, "units in a SKU's batch (default 5)")
	s.StringVar(&w.Qty, "qty", "", `units of an order (default "1,10%:2")`)
	s.IntVar(&w.Customers, "customers", 0, "customers, who buy a batch once each (default: every order its own)")
	s.StringVar(&w.Work, "work", "", `time inside the critical section (default "1ms-20ms,3%:65%ttl-85%ttl")`)
	s.StringVar(&w.Think, "think", "", `time between two purchases (default "10ms-50ms")`)
	s.StringVar(&w.StockOn, "stock-on", "", "own (a Redis of its own), lock (on the lock's master) or sql")
	s.StringVar(&w.LockKey, "lock-key", "", "grain of the lock: category, sku, user-sku or segment")
	s.Var(leaseFlag{w}, "ttl", "of the lock (default 5s); a mixed fleet: 3s,500ms gives them to the workers in turn")
	s.DurationVar(&w.Grace, "grace", 0, "after the ttl by which a free lock must be had (default 1s)")
	s.DurationVar(&w.MaxHold, "max-hold", 0, "nobody needs the lock for longer: a longer hold is a violation (default: any may be)")
	s.DurationVar(&w.MaxZombie, "max-zombie", 0, "a lock that nobody holds is refused no longer, else it is a violation (default: any time is only told)")
	s.IntVar(&w.Retries, "retries", 0, "of a busy lock; -1: none (default 3)")
	s.DurationVar(&w.RetryDelay, "retry-delay", 0, "between two tries (default 50ms)")
	s.Var((*noneOrDuration)(&w.Jitter), "jitter", "at most this much more; -1: none (default 50ms)")
	s.DurationVar(&w.Wait, "wait", 0, "for a busy lock, where tries are not counted (default 2s)")
	s.DurationVar(&w.Renew, "renew", 0, "between two renewals (default ttl/3)")
	s.Float64Var(&w.Drift, "drift", 0, "redlock: share of the ttl for clock drift (default 0.01)")
	s.IntVar(&w.Nodes, "nodes", 0, "redlock: servers, 3 or 5 (default 5)")
	s.IntVar(&w.Acks, "acks", 0, "wait-lock: replicas that must have the lock (default 1)")
	s.DurationVar(&w.AckWait, "ack-wait", 0, "wait-lock: how long WAIT waits (default 100ms)")
	s.StringVar(&w.Persistence, "persistence", "", "of the lock's servers: none, everysec or always")
}

// noneOrDuration is a duration for which -1 says none.
type noneOrDuration time.Duration

func (d *noneOrDuration) String() string {
	if *d < 0 {
		return "-1"
	}
	return time.Duration(*d).String()
}

func (*noneOrDuration) Type() string { return "duration" }

func (d *noneOrDuration) Set(s string) error {
	if s == "-1" {
		*d = -1
		return nil
	}
	parsed, err := time.ParseDuration(s)
	if err == nil && parsed < -1 {
		err = errors.New("want a duration from 1ns, or -1 for none")
	}
	*d = noneOrDuration(parsed)
	return err
}

// check finds contradictions between flags.
func (f *runFlags) check() error {
	switch f.cluster {
	case onSim, onDocker:
	default:
		return unknownName("cluster", f.cluster, []string{onSim, onDocker})
	}
	if err := checkFormat(f.format); err != nil {
		return err
	}
	switch {
	case f.expect != "" && f.expect != "claims":
		return usagef("--expect=%s: the only thing to expect is claims", f.expect)
	case f.image != "" && f.cluster != onDocker:
		return usagef("--image needs --cluster=docker")
	case f.schedule != "" && f.set.Changed("nemesis"):
		return usagef("--schedule and --nemesis contradict each other: the schedule says what happens")
	case f.schedule != "" && f.variant != "":
		return usagef("--schedule and --variant contradict each other")
	case f.timeLimit <= 0:
		return usagef("--time-limit=%v: must be above 0", f.timeLimit)
	case f.timeLimit > 24*time.Hour:
		return usagef("--time-limit=%v: a day at the most", f.timeLimit)
	case f.interval < 0 || f.downAfter < 0:
		return usagef("--interval=%v, --down-after=%v: must not be negative", f.interval, f.downAfter)
	case f.interval > 0 && f.timeLimit/f.interval > mostFaults:
		return usagef("--interval=%v: %d faults in a --time-limit of %v; at most %d, so at least %v",
			f.interval, f.timeLimit/f.interval, f.timeLimit, mostFaults, f.timeLimit/mostFaults)
	case math.IsNaN(f.spec.Drift) || f.spec.Drift < 0 || f.spec.Drift >= 1:
		return usagef("--drift=%v: want a share of the ttl, from 0 to below 1", f.spec.Drift)
	case f.runs < 0:
		return usagef("--runs=%d: must not be negative", f.runs)
	case f.spec.Workers == 1 && f.set.Name() != "bench":
		return usagef("--concurrency=1: one worker has nobody to share a lock with")
	}
	return f.checkZeros()
}

// mostFaults bounds the faults that a schedule has: it is made before the run.
const mostFaults = 100_000

// checkZeros refuses a 0 that the user gave where 0 would stand for the
// default: it would do something else than it says.
func (f *runFlags) checkZeros() (err error) {
	f.set.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "all-runs", "seed", "customers", "max-ops", "shrink-time": // 0 means what it says
			return
		case "retries", "jitter":
			if zero(flag) {
				err = usagef("--%s=0: none is -1; leave it out for the default", flag.Name)
			}
			return
		}
		if zero(flag) {
			err = usagef("--%s=%s: must be above 0; leave it out for the default", flag.Name, flag.Value)
		}
	})
	return err
}

// leaseFlag is the flag --ttl.
type leaseFlag struct{ spec *workload.Spec }

var _ pflag.Value = leaseFlag{}

func (f leaseFlag) Set(text string) error { return f.spec.SetTTL(text) }
func (f leaseFlag) Type() string          { return "durations" }

// String is what was set.
func (f leaseFlag) String() string {
	switch {
	case f.spec == nil || f.spec.TTL == 0:
		return "0s"
	case f.spec.Leases != "":
		return f.spec.Leases
	}
	return f.spec.TTL.String()
}

// zero reports whether a flag is a number or a duration of 0.
func zero(flag *pflag.Flag) bool {
	s := flag.Value.String()
	return flag.Value.Type() != "string" && (s == "0" || s == "0s")
}

var formats = []string{"text", "json", "junit", "markdown"}

func checkFormat(name string) error {
	if !slices.Contains(formats, name) {
		return unknownName("format", name, formats)
	}
	return nil
}

// begin makes sure that runs can be kept, and tells the seed.
func (f *runFlags) begin(a *app) error {
	if err := histories.MakeStore(f.store); err != nil {
		return err
	}
	f.chooseSeed()
	fmt.Fprintf(a.stderr, "seed %d\n", f.seed)
	for _, w := range f.warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
	return nil
}

func (f *runFlags) chooseSeed() {
	if f.set.Changed("seed") {
		return
	}
	var b [4]byte
	// 32 bits: short enough to type. crypto/rand never fails.
	_, _ = rand.Read(b[:])
	f.seed = uint64(binary.LittleEndian.Uint32(b[:]))
}

// provider makes the cluster that the flags ask for.
func (f *runFlags) provider(ctx context.Context) (cluster.Provider, error) {
	if f.cluster == onSim {
		collectLess()
		return sim.New(sim.Config{}), nil
	}
	return realServers(ctx, f.image)
}

// collectLess gives the garbage collector less to do: simulated runs are short
// and leave much behind; a third of their time goes into collecting it. The
// user's own GOGC counts.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// repeats is how often a cell is run at most: often enough to find what the
// design claims to suffer, which some faults show in few runs only.
func (f *runFlags) repeats(c tableCell) int {
	claim := f.claimOf(c)
	switch {
	case f.runs > 0:
		return f.runs
	case f.cluster == onDocker:
		return 1
	case claim.Lock == workload.Breaks || claim.Use == workload.Breaks || claim.Business == workload.Breaks:
		return 20
	}
	return 3
}

// plan is the plan of one run of a cell.
func (f *runFlags) plan(c tableCell, n int) run.Plan {
	spec := c.spec
	spec.Seed = f.seed + uint64(n)
	return run.Plan{
		Spec: spec, Nemesis: c.nemesis, Variant: f.variant, Schedule: c.schedule, TimeLimit: f.timeLimit,
		Interval: f.interval, DownAfter: f.downAfter, Cluster: f.cluster, Version: version(), Settings: f.settings(),
	}
}

// settings are the flags that the user gave, for the header: what the replay
// needs beside the design, the nemesis and the seed.
func (f *runFlags) settings() map[string]string {
	m := map[string]string{}
	f.set.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "design", "nemesis", "seed", "runs", "all-runs", "store", "format", "expect", "shard":
		default:
			m[flag.Name] = flag.Value.String()
		}
	})
	return m
}

// replay is the command that runs one run again.
func (f *runFlags) replay(c tableCell, seed uint64) string {
	words := []string{"lockcheck run", "--design=" + c.spec.Design}
	if f.schedule == "" {
		words = append(words, "--nemesis="+c.nemesis)
	}
	words = append(words, fmt.Sprintf("--seed=%d", seed), "--runs=1")
	f.set.VisitAll(func(flag *pflag.Flag) {
		if value, ok := f.settings()[flag.Name]; ok {
			words = append(words, "--"+flag.Name+"="+quote(value))
		}
	})
	return strings.Join(words, " ")
}

// quote protects a word from the shell.
func quote(s string) string {
	if strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~%") || s == "" {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// claimOf is what the design promises under the nemesis. One run of all nemeses
// has no time for each, and one variant may not be the one that tells: what
// breaks then may break.
func (f *runFlags) claimOf(c tableCell) workload.Claim {
	claim := c.design.Claim(c.nemesis)
	if c.nemesis == nemesis.Mixed || f.variant != "" {
		for _, p := range []*workload.Promise{&claim.Lock, &claim.Use, &claim.Business} {
			if *p == workload.Breaks {
				*p = workload.MayBreak
			}
		}
	}
	return claim
}
