package explore

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster/sim"
)

// The schedules are a tree. Its root is the default schedule; the children of a
// schedule are those with one more deviation, at a later point than its last one.
// What happens up to a point depends only on what was done before it, so each
// placement of deviations is one node of the tree: none is missed, none is played
// twice. At one point there is at most one deviation.

// Search is one exploration of a scene.
type Search struct {
	Scene      *Scene
	Deviations int // at most in a schedule
	// Aims are the levels that are to be broken; none: all.
	Aims  []checker.Level
	Lanes int // goroutines that play; default 1
	// Shard of Shards, from 0: only every Shards-th schedule is judged. Default: all.
	Shard, Shards int
	// Said is told how far the search is, now and then, by one goroutine at a time;
	// nil: nobody is.
	Said func(Progress)
}

// Progress is how far a search is.
type Progress struct {
	Deviations int   // of the schedules that are being played
	Played     int64 // of them so far
	Of         int64 // there are so many; some need not be played
	// Share is how much of the tree is behind, from 0 to 1: reckoned by the places of
	// first deviations, of which a later one has fewer schedules below it.
	Share float64
}

// Levels are the levels at which a design can be broken, in the order of reports.
var Levels = [...]checker.Level{checker.LockLevel, checker.UseLevel, checker.BusinessLevel}

// Run plays all schedules with 0, 1, 2, … deviations and has each judged. It goes
// on while a level that is aimed at has not been broken; when all have, only schedules with
// deviations of a single kind are played, which tell the distance by that kind.
// When ctx ends, the result says how far it came. An error means that a schedule
// could not be played.
func (s *Search) Run(ctx context.Context) (*Result, error) {
	r := newResult(s)
	root, err := s.Scene.Play(nil, s.Deviations > 0)
	if err != nil {
		return nil, err
	}
	r.add(root, nil)
	r.finish(0, 1)
	of := int64(len(root.Options))
	for depth := 1; depth <= s.Deviations; depth++ {
		level := &depthRun{Search: s, ctx: ctx, result: r, depth: depth, root: root.Options}
		level.goal = Progress{Deviations: depth, Of: of}
		if err := level.run(); err != nil {
			return r, err
		}
		if ctx.Err() != nil {
			r.stop(depth, of)
			return r, nil
		}
		r.finish(depth, of)
		of = level.children.Load()
	}
	return r, nil
}

// depthRun plays all schedules with depth deviations.
type depthRun struct {
	*Search
	ctx    context.Context
	result *Result
	depth  int
	root   []sim.Placed

	next     atomic.Int64 // of root, to be taken by a lane
	children atomic.Int64 // of the schedules that were played: those with one more
	mu       sync.Mutex   // of result, err and goal
	goal     Progress
	err      error
}

// run shares the subtrees of the root out to the lanes.
func (d *depthRun) run() error {
	var all sync.WaitGroup
	for range max(1, d.Lanes) {
		all.Go(func() {
			for {
				i := int(d.next.Add(1) - 1)
				if i >= len(d.root) || d.ctx.Err() != nil || d.failed() {
					return
				}
				d.walk(d.root[i:i+1:i+1], d.depth-1, i)
			}
		})
	}
	all.Wait()
	return d.err
}

func (d *depthRun) failed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err != nil
}

// walk plays the descendants of a schedule that are further levels below it; n is
// its place among its siblings.
func (d *depthRun) walk(plan []sim.Placed, further, n int) {
	if further == 0 {
		d.leaf(plan, n)
		return
	}
	if !d.wanted(plan) {
		return
	}
	p, err := d.Scene.play(plan, true, d.Scene.walls)
	if err != nil {
		d.fail(plan, err)
		return
	}
	p.forget()
	for i, o := range p.Options {
		if d.ctx.Err() != nil {
			return
		}
		d.walk(append(plan, o), further-1, n+i)
	}
}

// leaf plays and judges one schedule.
func (d *depthRun) leaf(plan []sim.Placed, n int) {
	if d.Shards > 1 && n%d.Shards != d.Shard || !d.wanted(plan) {
		return
	}
	p, err := d.Scene.Play(plan, d.depth < d.Deviations)
	if err != nil {
		d.fail(plan, err)
		return
	}
	p.forget()
	d.children.Add(int64(len(p.Options)))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.result.add(p, plan)
	if d.goal.Played++; d.Said != nil && d.goal.Played%every == 0 {
		left := float64(max(0, len(d.root)-int(d.next.Load()))) / float64(len(d.root))
		d.goal.Share = 1 - math.Pow(left, float64(d.depth))
		d.Said(d.goal)
	}
}

// every so many schedules somebody is told.
const every = 256

// wanted reports whether a schedule, or one that begins with it, can tell something
// new.
func (d *depthRun) wanted(plan []sim.Placed) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	kind, single := kindOf(plan)
	return d.result.unbroken(d.depth) || single && d.result.unbrokenBy(kind, d.depth)
}

// kindOf is the kind of all deviations of a plan, if they have one.
func kindOf(plan []sim.Placed) (kind sim.Kind, single bool) {
	for _, p := range plan {
		if p.Kind != plan[0].Kind {
			return 0, false
		}
	}
	return plan[0].Kind, true
}

func (d *depthRun) fail(plan []sim.Placed, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = &PlanError{append([]sim.Placed(nil), plan...), err}
	}
}
