// Package nemesis hurts clusters, on purpose and on record.
//
// A nemesis is a way of making schedules. A Schedule is data: episodes of
// steps, each of which waits (for a time, or for something to happen in the
// run) and then injects one fault. It is printed, saved with the run,
// replayed on either cluster and shrunk. Run plays it and records each fault
// with the proof that it bit.
//
// Start with Catalogue, the table of nemeses, then Schedule. Rare windows are
// hit by aiming (Trigger: "right after the next grant of a key that was
// free"), not by luck.
//
// The package imports only histories. What it hurts is behind World; what can
// be done to it is histories.Fault.
package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Params are what a plan is made for. All times are durations of the run.
type Params struct {
	TimeLimit    time.Duration // no episode begins later
	Interval     time.Duration // between the starts of two episodes; default 9 s
	TTL          time.Duration // of the design's lock; 0: it has none
	LongWork     time.Duration // the shortest of the long critical sections: what aimed faults wait for
	Workers      int
	Servers      int  // of the lock service, named redis-1 …; 0: none
	Replicas     bool // the lock service has replicas and fails over
	SQL          bool // there is a SQL server
	Lockless     bool // the design takes no lock: faults aim at sales
	Unreplicated bool // replicas know nothing of its locks: each grant is lost with the master
	Renews       bool // its lock is renewed in the background

	// WritesUnderLock says that a sale passes the step before-write while it
	// holds the lock.
	WritesUnderLock bool
	Sentinels       bool     // sentinels watch the lock service
	Nodes           []string // names of all servers
	Places          []string // all places between the design's commands that are known
	Steps           []string // places between the design's commands where a crash tells most
	Crashes         []string // places where it is to be crashed
	Waits           bool     // a grant waits for a replica: cutting all of them off stops the grants
	// WritesRedis: its sales change the stock by a recorded write to a Redis.
	WritesRedis bool
	// Commits: its sales change the stock by a recorded write that a transaction
	// of a SQL server commits.
	Commits bool
	Only    string // play only the variant of this name, for nemeses that have several
	Rand    *rand.Rand
}

// Nemesis is one way to hurt a cluster.
type Nemesis struct {
	Name    string
	Summary string
	// Variants are the names of the episodes that the plan takes turns with.
	Variants []Variant
	// Needs says why the nemesis is impossible with these parameters; nil if
	// it can. It refuses rather than do less.
	Needs func(Params) error
	// DownAfter is how long a master must be silent before the others think it
	// dead; 0: the cluster's default. A longer one keeps a restart from becoming
	// a failover.
	DownAfter time.Duration
}

// Variant makes one kind of episode.
type Variant struct {
	Name, Summary string
	// Fits reports whether the variant makes sense; nil: always.
	Fits func(Params) bool
	Plan func(Params) []Step
}

// timeToBite is what an episode needs at the least before the time limit. A
// fault that is healed as soon as it begins shows nothing.
const timeToBite = time.Second

// firstEpisode is when a run has warmed up and has grants to lose.
const firstEpisode = 2 * time.Second

// DefaultInterval is the time between two faults.
const DefaultInterval = 9 * time.Second

// Plan makes the nemesis' schedule: one episode each interval, its variants
// in turn, moments jittered by p.Rand. The first variant, the most telling one,
// comes first; the others in an order of the seed's, since a run may be too short
// for all of them.
func (n Nemesis) Plan(p Params) ([]Episode, error) {
	if n.Needs != nil {
		if err := n.Needs(p); err != nil {
			return nil, fmt.Errorf("nemesis %s: %w", n.Name, err)
		}
	}
	fitting := slices.DeleteFunc(slices.Clone(n.Variants), func(v Variant) bool {
		return v.Fits != nil && !v.Fits(p) || p.Only != "" && p.Only != v.Name
	})
	switch {
	case len(n.Variants) == 0 || len(fitting) > 0:
	case p.Only != "" && OfVariant(p.Only) != n.Name:
		return nil, fmt.Errorf("nemesis %s: it has no variant %s", n.Name, p.Only)
	case p.Only != "":
		return nil, fmt.Errorf("nemesis %s: its variant %s does not fit this design or its topology", n.Name, p.Only)
	default:
		return nil, fmt.Errorf("nemesis %s: none of its faults fits this topology", n.Name)
	}
	if others := fitting; len(others) > 2 {
		others = others[1:]
		p.Rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	}
	var episodes []Episode
	interval := cmp.Or(p.Interval, DefaultInterval)
	for at, i := firstEpisode, 0; at < p.TimeLimit && len(fitting) > 0; at, i = at+interval, i+1 {
		v := fitting[i%len(fitting)]
		jitter := time.Duration(p.Rand.Int64N(int64(time.Second)))
		episodes = append(episodes, Episode{Name: v.Name, At: at + jitter, Steps: v.Plan(p)})
	}
	return episodes, nil
}

// ErrUnknown says that there is no nemesis of that name.
var ErrUnknown = errors.New("unknown nemesis")

// Plan makes the schedule of a nemesis as the command line names it: one
// name, several joined by + in one run, or "mixed" for all in one run.
func Plan(name string, p Params) (Schedule, error) {
	s := Schedule{Format: Format, Nemesis: name}
	parts := strings.Split(name, "+")
	if name == Mixed {
		parts = mixable(p)
	}
	for i, part := range parts {
		n, ok := Find(part)
		if !ok {
			return Schedule{}, fmt.Errorf("%w %q", ErrUnknown, part)
		}
		// Episodes are played one after another: several nemeses share the
		// time by taking turns.
		q := p
		q.Interval = cmp.Or(p.Interval, 9*time.Second) * time.Duration(len(parts))
		episodes, err := n.Plan(q)
		if err != nil {
			return Schedule{}, err
		}
		for j := range episodes {
			episodes[j].At += q.Interval / time.Duration(len(parts)) * time.Duration(i)
		}
		s.Episodes = append(s.Episodes, episodes...)
	}
	slices.SortStableFunc(s.Episodes, func(a, b Episode) int { return cmp.Compare(a.At, b.At) })
	s.Episodes = slices.DeleteFunc(s.Episodes, func(e Episode) bool { return e.At >= p.TimeLimit-timeToBite })
	return s, nil
}

// Mixed is the name of all nemeses in one run.
const Mixed = "mixed"

func mixable(p Params) []string {
	var names []string
	for _, n := range Catalogue {
		if len(n.Variants) > 0 && (n.Needs == nil || n.Needs(p) == nil) {
			names = append(names, n.Name)
		}
	}
	p.Rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

// DownAfter is what a nemesis, or several joined by "+", needs of the failure
// detection: the longest of theirs, or 0.
func DownAfter(name string) time.Duration {
	var longest time.Duration
	for part := range strings.SplitSeq(name, "+") {
		n, _ := Find(part)
		longest = max(longest, n.DownAfter)
	}
	return longest
}

// Find looks a nemesis up by name.
func Find(name string) (Nemesis, bool) {
	i := slices.IndexFunc(Catalogue, func(n Nemesis) bool { return n.Name == name })
	if i < 0 {
		return Nemesis{}, false
	}
	return Catalogue[i], true
}

// OfVariant is the name of the nemesis that has a variant of that name, "" if
// none has.
func OfVariant(name string) string {
	for _, n := range Catalogue {
		if slices.ContainsFunc(n.Variants, func(v Variant) bool { return v.Name == name }) {
			return n.Name
		}
	}
	return ""
}

// Names lists the catalogue.
func Names() []string {
	names := make([]string, len(Catalogue))
	for i, n := range Catalogue {
		names[i] = n.Name
	}
	return names
}
