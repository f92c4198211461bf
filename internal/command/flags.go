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
	"github.com/lockcheck/lockcheck/nemesis"
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
	turns     cluster.Turns
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
	s.StringVar(&f.design, "design", standard, "designs, separated by commas; also all, controls, known-bad")
	s.StringVar(&f.nemesis, "nemesis", "failover", "nemeses; with commas each in turn, with + together in one run; also all (each in turn), mixed (all in one run)")
	s.StringVar(&f.variant, "variant", "", "the only variant of the nemesis to play (lockcheck list NEMESIS names them)")
	s.StringVar(&f.schedule, "schedule", "", "file with a fault schedule to replay")
	s.Var((*turnsFlag)(&f.turns), "turns", "sim: from these moments on take the random numbers of other seeds, such as 2.5s:77,3s:12: how a guided search names the runs that it finds")
	s.DurationVar(&f.timeLimit, "time-limit", 30*time.Second, "duration of the faults in a run")
	s.DurationVar(&f.interval, "interval", 0, fmt.Sprintf("time between two faults (default %v; contended scene 5s)", nemesis.DefaultInterval))
	s.Uint64Var(&f.seed, "seed", 0, "seed of everything random (default: a new one, printed first)")
	s.IntVar(&f.runs, "runs", 0, "runs of a cell, each with the next seed; in virtual time at most, since the first invalid one ends them (default: sim 3, or 20 where a design claims to break; docker 1)")
	s.BoolVar(&f.allRuns, "all-runs", false, "make all runs of a cell, however many are invalid, so that \"31 of 100\" is a rate; always so on docker")
	s.StringVar(&f.shard, "shard", "", "i/n: only the i-th of n parts of the cells")
	s.StringVar(&f.expect, "expect", "", "claims: exit 0 if every verdict is what the design claims")
	group(s, "Run")
	specFlags(s, &f.spec)
	f.exec.add(s)
	group(s, "Own program")
	s.StringVar(&f.cluster, "cluster", sim.Driver.Name, clusterHelp())
	s.StringVar(&f.image, "image", "", "docker: base image of the servers, Debian-based: Redis, Valkey or plain Debian")
	s.StringVar(&f.spec.Persistence, "persistence", "", "append-only file of the lock's servers: none (default), everysec or always")
	s.DurationVar(&f.downAfter, "down-after", 0, "silence after which Sentinel takes a master for down (default 800ms; 3s under restart)")
	group(s, "Cluster")
	s.StringVar(&f.store, "store", "store", "folder for histories and reports")
	s.StringVar(&f.format, "format", "text", "output format: text, json, junit or markdown")
	group(s, "Output")
	return f
}

// specFlags are the settings of the workload. 0 or "" means the design's own
// default, which is the article's where it has one, or else the one shown.
func specFlags(s *pflag.FlagSet, w *workload.Spec) {
	d := workload.Defaults()
	s.StringVar(&w.Workload, "workload", "", "stock (default), or flash-sale: 1,000 customers at once for 100 units")
	s.StringVar(&w.Scene, "scene", "", "standard (default), or contended: 12 workers, 2 SKUs, a fault every 5s")
	s.IntVar(&w.Workers, "concurrency", 0, fmt.Sprintf("number of workers (default %d)", d.Workers))
	s.IntVar(&w.PerHost, "per-host", 0, fmt.Sprintf("workers that share one process (default %d)", d.PerHost))
	s.IntVar(&w.MaxOps, "max-ops", 0, "purchases per worker (default: no limit)")
	s.IntVar(&w.SKUs, "skus", 0, fmt.Sprintf("articles on sale (default %d)", d.SKUs))
	s.Int64Var(&w.Stock, "stock", 0, fmt.Sprintf("units in a batch of an article (default %d)", d.Stock))
	s.StringVar(&w.Qty, "qty", "", fmt.Sprintf("units of an order, as a distribution (default %q)", d.Qty))
	s.IntVar(&w.Customers, "customers", 0, "number of customers, each of whom buys a batch once (default: every order is its own)")
	s.StringVar(&w.Work, "work", "", fmt.Sprintf("time inside the critical section, as a distribution (default %q)", d.Work))
	s.StringVar(&w.Think, "think", "", fmt.Sprintf("time between two purchases, as a distribution (default %q)", d.Think))
	s.StringVar(&w.StockOn, "stock-on", "", "place of the stock: own (a Redis of its own), lock (the lock's master) or sql (default: the design's)")
	group(s, "Workload")
	s.Var(leaseFlag{w}, "ttl", fmt.Sprintf("lock lease duration (default %v); 3s,500ms: a mixed fleet, which gives the durations to the workers in turn", d.TTL))
	s.DurationVar(&w.Grace, "grace", 0, fmt.Sprintf("how long after the TTL an expired lock may still be refused before stuck-lock is reported (default %v)", d.Grace))
	s.DurationVar(&w.MaxHold, "max-hold", 0, "longest allowed hold; a longer one is reported as max-hold (default: no limit)")
	s.DurationVar(&w.MaxZombie, "max-zombie", 0, "longest time that a lock without a holder may be refused; a longer one is reported as a violation (default: no limit, a warning only)")
	s.IntVar(&w.Retries, "retries", 0, fmt.Sprintf("attempts after the first when the lock is busy; -1 for none (default %d)", d.Retries))
	s.DurationVar(&w.RetryDelay, "retry-delay", 0, fmt.Sprintf("time between two attempts (default %v)", d.RetryDelay))
	s.Var((*noneOrDuration)(&w.Jitter), "jitter", fmt.Sprintf("random time added to the retry delay, at most; -1 for none (default %v)", d.Jitter))
	s.DurationVar(&w.Wait, "wait", 0, fmt.Sprintf("how long to wait for a busy lock, for designs that poll instead of counting retries (default %v)", d.Wait))
	s.DurationVar(&w.Renew, "renew", 0, "time between two renewals (default: a third of the TTL)")
	s.StringVar(&w.LockKey, "lock-key", "", "what one lock guards: category, sku, user-sku or segment (default: the design's)")
	s.Float64Var(&w.Drift, "drift", 0, fmt.Sprintf("redlock: share of the TTL set aside for clock drift (default %v)", d.Drift))
	s.IntVar(&w.Nodes, "nodes", 0, fmt.Sprintf("redlock: number of servers, 3 or 5 (default %d)", d.Nodes))
	s.IntVar(&w.Acks, "acks", 0, fmt.Sprintf("wait-lock: replicas that must acknowledge the lock (default %d)", d.Acks))
	s.DurationVar(&w.AckWait, "ack-wait", 0, fmt.Sprintf("wait-lock: how long to wait for the acknowledgements (default %v)", d.AckWait))
	group(s, "Lock")
}

// noneOrDuration is a duration for which -1 says none.
type noneOrDuration time.Duration

func (d *noneOrDuration) String() string {
	switch {
	case *d < 0:
		return "-1"
	case *d == 0:
		return "0" // pflag's zero value, of which help says nothing
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
	if err := errors.Join(f.findDriver(), f.pace()); err != nil {
		return err
	}
	if err := checkFormat(f.format); err != nil {
		return err
	}
	switch {
	case f.expect != "" && f.expect != "claims":
		return usagef("--expect=%s: the only thing to expect is claims", f.expect)
	case len(f.turns) > 0 && !f.driver.Virtual:
		return usagef("--turns needs the simulated cluster")
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
		return usagef("--drift=%v: want a share of the TTL, from 0 to below 1", f.spec.Drift)
	case f.runs < 0:
		return usagef("--runs=%d: must not be negative", f.runs)
	case f.spec.Workers == 1 && f.set.Name() != "bench":
		return usagef("--concurrency=1: need at least 2 workers")
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
		return "0" // pflag's zero value, of which help says nothing
	case f.spec.Leases != "":
		return f.spec.Leases
	}
	return f.spec.TTL.String()
}

// turnsFlag is the flag --turns.
type turnsFlag cluster.Turns

var _ pflag.Value = (*turnsFlag)(nil)

func (f *turnsFlag) Set(text string) (err error) {
	turns, err := cluster.ReadTurns(text)
	*f = turnsFlag(turns)
	return err
}
func (f *turnsFlag) Type() string   { return "turns" }
func (f *turnsFlag) String() string { return cluster.Turns(*f).String() }

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
