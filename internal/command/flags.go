package command

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/workload"
)

// runFlags are the flags of run, and in part of search and bench.
type runFlags struct {
	app       *app
	driver    cluster.Driver // that --cluster names
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
	timeLimit time.Duration
	interval  time.Duration
	downAfter time.Duration
	spec      workload.Spec
	exec      execFlags
}

func newRunFlags(a *app, verb string) *runFlags {
	f := &runFlags{app: a, set: a.flags(verb)}
	s := f.set
	standard := "all"
	if len(a.Own) > 0 {
		standard = strings.Join(a.Own.Names(), ",")
	}
	s.StringVar(&f.design, "design", standard, "design, or several with commas, or all, controls, known-bad")
	s.StringVar(&f.nemesis, "nemesis", "failover", "nemesis; with commas: each in turn; with +: together in one run; all; mixed")
	s.StringVar(&f.variant, "variant", "", "play only this variant of the nemesis (lockcheck list NEMESIS)")
	s.StringVar(&f.cluster, "cluster", sim.Driver.Name, clusterHelp())
	s.Uint64Var(&f.seed, "seed", 0, "decides everything random (default: a new one, printed first)")
	s.IntVar(&f.runs, "runs", 0, "runs of a cell, with new seeds; on sim at most so many: the first invalid one ends them (default: sim 3, or 20 where a design claims to break; docker 1)")
	s.BoolVar(&f.allRuns, "all-runs", false, "make all runs of a cell, however many are invalid: 31 of 100 is a rate (docker does so always)")
	s.DurationVar(&f.timeLimit, "time-limit", 30*time.Second, "how long faults go on in a run")
	s.DurationVar(&f.interval, "interval", 0, "between two faults (default 9s)")
	s.DurationVar(&f.downAfter, "down-after", 0, "how long a master must be silent for Sentinel (default 800ms; 3s under restart)")
	s.StringVar(&f.schedule, "schedule", "", "replay the fault schedule in this file")
	specFlags(s, &f.spec)
	f.exec.add(s)
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

// errNoServers: the program was built without what real servers need.
var errNoServers = hint(usagef("this program was built for the simulation only"),
	"build it on Linux or macOS without -tags sim; a program of your own imports github.com/lockcheck/lockcheck/cluster/servers")

// findDriver finds the driver that --cluster names.
func (f *runFlags) findDriver() error {
	var names []string
	for _, d := range drivers() {
		if d.Name == f.cluster {
			f.driver = d
			return nil
		}
		names = append(names, d.Name)
	}
	if f.cluster == benchDefaults["cluster"] {
		return errNoServers
	}
	return unknownName("cluster", f.cluster, names)
}

// clusterHelp names the clusters that there are.
func clusterHelp() string {
	var all []string
	for _, d := range drivers() {
		all = append(all, d.Name+" ("+d.Summary+")")
	}
	return strings.Join(all, " or ")
}

// check finds contradictions between flags.
func (f *runFlags) check() error {
	if err := f.findDriver(); err != nil {
		return err
	}
	if err := checkFormat(f.format); err != nil {
		return err
	}
	switch {
	case f.expect != "" && f.expect != "claims":
		return usagef("--expect=%s: the only thing to expect is claims", f.expect)
	case f.image != "" && !f.driver.Images:
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

// settingsOf are the settings without those that concern another design alone.
func (f *runFlags) settingsOf(d workload.Design) map[string]string {
	m := f.settings()
	if d.Own == nil {
		for _, name := range ofExec {
			delete(m, name)
		}
	}
	return m
}

// replay is the command that runs one run again.
func (f *runFlags) replay(c tableCell, seed uint64) string {
	words := []string{f.app.called("lockcheck run")}
	if c.design.Own == nil {
		words = append(words, "--design="+c.spec.Design)
	}
	if f.schedule == "" {
		words = append(words, "--nemesis="+c.nemesis)
	}
	words = append(words, fmt.Sprintf("--seed=%d", seed), "--runs=1")
	f.set.VisitAll(func(flag *pflag.Flag) {
		if value, ok := f.settingsOf(c.design)[flag.Name]; ok {
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
