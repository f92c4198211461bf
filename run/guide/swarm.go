package guide

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// swarm varies what a plan leaves open: how many workers there are, at how many
// articles, how long they work and think, how long a lease lasts, which variants are
// played and how often (Groce, Zhang, Eide, Chen and Regehr, "Swarm Testing", ISSTA 2012).
// A run that cannot be is the plan itself.
func (s *searcher) swarm(p run.Plan, r *rand.Rand) run.Plan {
	q, spec := p, p.Spec.Spec
	for _, d := range dimensions {
		if !s.Fixed(d.flag) && r.IntN(2) == 0 {
			d.vary(&q, &spec, r)
		}
	}
	if !s.Fixed("variant") && p.Variant == "" && len(s.variants) > 1 && r.IntN(2) == 0 {
		q.Variant = s.variants[r.IntN(len(s.variants))]
	}
	spec.Batches = 0
	resolved, err := p.Spec.Of.Resolve(spec)
	if err != nil {
		return p
	}
	q.Spec = resolved
	if run.Feasible(q) != nil || run.CheckSchedule(q) != nil {
		return p
	}
	return q
}

// dimension is one setting that a swarm draws, and the flag that keeps it.
type dimension struct {
	flag string
	vary func(q *run.Plan, s *workload.Spec, r *rand.Rand)
}

var dimensions = []dimension{
	{"concurrency", func(_ *run.Plan, s *workload.Spec, r *rand.Rand) {
		if s.Workload == workload.Stock {
			s.Workers = max(2, one(r, s.Workers/2, s.Workers-1, s.Workers+2))
		}
	}},
	{"skus", func(_ *run.Plan, s *workload.Spec, r *rand.Rand) { s.SKUs = max(1, one(r, 1, s.SKUs/2, s.SKUs/4)) }},
	{"work", func(_ *run.Plan, s *workload.Spec, r *rand.Rand) {
		s.Work = oftener(s.Work, one(r, "5", "15", "30"))
	}},
	{"think", func(_ *run.Plan, s *workload.Spec, r *rand.Rand) {
		s.Think = one(r, s.Think, "100ms-300ms", "300ms-800ms")
	}},
	{"ttl", func(q *run.Plan, s *workload.Spec, r *rand.Rand) {
		if s.Leases != "" || s.TTL < time.Second || q.Spec.Of.Renews { // renewals are set for the TTL that they know
			return
		}
		s.TTL = s.TTL * time.Duration(one(r, 2, 3)) / 4
		s.Renew = s.TTL / 3
	}},
	{"interval", func(q *run.Plan, _ *workload.Spec, r *rand.Rand) {
		now := q.Interval
		if now == 0 {
			now = nemesis.DefaultInterval
		}
		q.Interval = max(500*time.Millisecond, now/time.Duration(one(r, 2, 3, 4)))
	}},
}

// share is the share of a part of a distribution.
var share = regexp.MustCompile(`([0-9.]+)%:`)

// oftener gives the rare parts of a distribution a larger share, in percent. The values
// stay what they are: a lease that is long enough for them is so still.
func oftener(distribution, percent string) string {
	if strings.Count(distribution, "%:") > 2 {
		return distribution // they might be more than all
	}
	want, _ := strconv.ParseFloat(percent, 64)
	return share.ReplaceAllStringFunc(distribution, func(part string) string {
		if now, err := strconv.ParseFloat(strings.TrimSuffix(part, "%:"), 64); err != nil || now >= want {
			return part
		}
		return percent + "%:"
	})
}

// one draws one of several.
func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
