// Package run runs a plan and judges it: it brings a cluster, a design at work in
// a shop and a nemesis together, records what happens, and has the recorded
// history checked. It is the same for the simulated and the real cluster, and it
// prints nothing.
//
//	design, _ := workload.Find("redis-lock")
//	spec, err := design.Resolve(workload.Spec{Seed: 1})
//	…
//	j, err := run.Run(ctx, sim.New(sim.Config{}), run.Plan{Spec: spec, Nemesis: "pause"}, run.Quick)
//	… j.History, j.Verdict
//
// Start with Plan and Run. Record is the half of Run that does not judge; Search
// looks for a run that is broken among many seeds, and package run/shrink makes
// its plan small.
package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Plan is all that decides a run. Spec must be set; the zero value of every other
// field is its default. On the simulated cluster equal plans make
// equal histories, to the byte.
type Plan struct {
	Spec      workload.Resolved
	Nemesis   string            // "": none
	Variant   string            // of the nemesis; empty: all in turn
	Schedule  *nemesis.Schedule // nil: made from the seed
	Turns     cluster.Turns     // of the random numbers; virtual time only
	TimeLimit time.Duration     // of the phase with faults; 0: the Spec's
	Interval  time.Duration     // between faults; 0: the scene's, or else the nemesis' default
	DownAfter time.Duration     // of Sentinel; 0: the nemesis', or else the cluster's default
	Version   string            // of lockcheck
	Settings  map[string]string // for the header

	Log func(server string, log io.Reader) error // is given what servers wrote; may be nil
}

// Result is what a run leaves besides its history.
type Result struct {
	Schedule    nemesis.Schedule
	Source      string
	Interrupted bool     // the context ended before the run had
	Faults      error    // faults that could not be injected
	Unhealed    error    // what could not be put right
	Killed      []string // workers that did not end by themselves
	Unlogged    error    // why logs of servers are missing
	Findings    []error  // what was wrong with the program under test, besides its lock
}

// Limits on waiting, beyond what the settings ask for.
const (
	healLimit   = 45 * time.Second
	finalLimit  = 20 * time.Second
	workerLimit = 10 * time.Second
	slack       = 300 * time.Millisecond
	logLimit    = 20 * time.Second
)

// Record runs a plan and writes its history to out as it happens. watch sees
// each event. An error means that lockcheck or its environment broke; the
// history so far stands all the same.
func Record(ctx context.Context, provider cluster.Provider, p Plan, out io.Writer, watch ...func(histories.Event)) (Result, error) {
	p.DownAfter = cmp.Or(p.DownAfter, nemesis.DownAfter(p.Nemesis))
	r := prepared(p)
	schedule, err := r.schedule()
	if err != nil {
		return Result{}, err
	}
	r.result.Schedule = schedule
	spec, err := json.Marshal(p.Spec)
	if err != nil {
		return r.result, fmt.Errorf("spec: %w", err)
	}
	r.cluster, err = provider.Cell(ctx, cluster.Options{
		Topology: p.Spec.Topology(), Seed: p.Spec.Seed, Turns: p.Turns, Program: p.Spec.Of.Program, Spec: spec,
		Workers: p.Spec.Workers, PerHost: p.Spec.PerHost, Emit: r.emit, DownAfter: p.DownAfter, Own: p.own(),
	})
	if err != nil {
		return r.result, err
	}
	r.result.Source = r.cluster.Source()
	if err := r.open(out, provider.Traits().Name, watch); err != nil {
		return r.result, err
	}
	err = r.cluster.Run(ctx, r.direct)
	if c, has := r.cluster.(interface{ Findings() []error }); has {
		r.result.Findings = c.Findings()
	}
	r.keepLogs(context.WithoutCancel(ctx))
	return r.result, errors.Join(err, r.recorder.Err())
}

// own is the program under test, and what it is told.
func (p Plan) own() *cluster.Own {
	s := p.Spec
	if s.Of.Own == nil {
		return nil
	}
	return &cluster.Own{Command: s.Of.Own, Hello: protocol.Hello{TTL: s.TTL.Milliseconds(), Wait: s.Wait.Milliseconds()}}
}

// keepLogs hands on what the servers wrote, where they write anything.
func (r *run) keepLogs(ctx context.Context) {
	servers, ok := r.cluster.(cluster.Logger)
	if !ok || r.Log == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logLimit)
	defer cancel()
	r.result.Unlogged = servers.Logs(ctx, r.Log)
}

// Feasible says why a plan cannot be run; nil if it can.
func Feasible(p Plan) error {
	_, err := prepared(p).schedule()
	return err
}

// run is one cell under way.
type run struct {
	Plan
	header   histories.Header
	cluster  cluster.Cluster
	recorder *histories.Recorder
	aim      nemesis.Watch
	tally    tally
	result   Result
}

// prepared is a run of a plan before anything happens.
func prepared(p Plan) *run {
	p.TimeLimit = cmp.Or(p.TimeLimit, p.Spec.TimeLimit)
	p.Nemesis = cmp.Or(p.Nemesis, nemesis.None)
	return &run{Plan: p, header: p.Spec.Header()}
}

func (r *run) schedule() (nemesis.Schedule, error) {
	if r.Schedule != nil {
		return *r.Schedule, nil
	}
	s, err := nemesis.Plan(r.Nemesis, r.params())
	for _, turn := range r.Turns {
		var other nemesis.Schedule
		p := r.params()
		p.Rand = rand.New(rand.NewPCG(turn.Seed, nemesisStream))
		if other, err = nemesis.Plan(r.Nemesis, p); err == nil {
			s = s.Turned(turn.At, other)
		}
	}
	return s, err
}

// CheckSchedule finds what of a plan's schedule the run could not play, or not
// as it says.
func CheckSchedule(p Plan) error {
	if p.Schedule == nil {
		return nil
	}
	return p.Schedule.Check(prepared(p).params())
}

// params are what a nemesis must know of the run.
func (r *run) params() nemesis.Params {
	topology := r.Spec.Topology()
	shape, _ := topology.Lock.Shape()
	lock := r.header.Lock
	design := r.Spec.Of
	return nemesis.Params{
		TimeLimit: r.TimeLimit, Interval: cmp.Or(r.Interval, r.Spec.Interval()), Only: r.Variant,
		TTL: lock.TTL, LongWork: r.Spec.LongWork(), Lockless: lock.None, Unreplicated: design.Unreplicated, Waits: design.Waits, Renews: design.Renews, Steps: design.Steps, Crashes: design.CrashSteps(), Workers: r.Spec.Workers,
		Servers: shape.Redis, Replicas: shape.Replicas > 0, Sentinels: shape.Sentinels > 0, SQL: topology.SQL,
		WritesUnderLock: !lock.None && slices.Contains(design.SalesPass(), histories.StepBeforeWrite),
		WritesRedis:     !topology.SQL && slices.Contains(design.SalesPass(), histories.StepBeforeWrite),
		Commits:         topology.SQL && (slices.Contains(design.SalesPass(), histories.StepCommit) || slices.Contains(design.Steps, histories.StepCommit)),
		Nodes:           nodes(topology), Places: places(design, topology),
		Rand: rand.New(rand.NewPCG(r.Spec.Seed, nemesisStream)),
	}
}

// nodes are the names of the servers of a topology.
func nodes(t env.Topology) []string {
	var names []string
	shape, _ := t.Lock.Shape()
	for i := range shape.Redis {
		names = append(names, fmt.Sprintf("redis-%d", i+1))
	}
	for i := range shape.Sentinels {
		names = append(names, fmt.Sprintf("sentinel-%d", i+1))
	}
	for _, other := range []struct {
		name string
		has  bool
	}{{"stock-1", t.Stock}, {"sql-1", t.SQL}, {"queue-1", t.Queue}} {
		if other.has {
			names = append(names, other.name)
		}
	}
	return names
}

// places are all steps that a design is known to have.
func places(d workload.Design, t env.Topology) []string {
	all := slices.Concat(d.SalesPass(), d.Steps)
	if t.SQL {
		all = append(all, histories.StepCommit)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nemesisStream keeps the nemesis' random numbers apart from the others of
// the same seed.
const nemesisStream = 0x6e656d65736973

func (r *run) open(out io.Writer, cluster string, watch []func(histories.Event)) error {
	h := r.header
	h.Nemesis, h.Cluster, h.Source, h.Version = r.Nemesis, cluster, r.result.Source, r.Version
	h.Seed, h.Settings = r.Spec.Seed, r.inForce()
	rec, err := histories.NewRecorder(out, h)
	if err != nil {
		return err
	}
	rec.Observe(r.aim.See)
	rec.Observe(r.tally.see)
	for _, w := range watch {
		rec.Observe(w)
	}
	r.recorder = rec
	return nil
}

// inForce are all settings of the run by name: the workload's with its defaults,
// the faults', and the flags of the caller that are none of these.
func (r *run) inForce() map[string]string {
	settings := maps.Clone(r.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, r.header.Settings)
	settings["time-limit"] = r.TimeLimit.String()
	settings["interval"] = cmp.Or(r.Interval, r.Spec.Interval(), nemesis.DefaultInterval).String()
	if r.DownAfter > 0 {
		settings["down-after"] = r.DownAfter.String()
	}
	return settings
}

// emit takes what the cluster and the workers report. Before the history is
// open there is nothing to say.
func (r *run) emit(e histories.Event) {
	if r.recorder != nil {
		r.recorder.Record(e)
	}
}

// note records an event of the run itself.
func (r *run) note(f, note, proof string, err error) {
	e := histories.Event{Time: int64(r.cluster.Now()), Process: histories.Nemesis, Type: histories.Info, F: f, Note: note, Proof: proof}
	if err != nil {
		e.Error = err.Error()
	}
	r.recorder.Record(e)
}
