package triage

import (
	"cmp"
	"slices"
	"strings"
)

// Total is one finding over all parts of a file.
type Total struct {
	Design, Nemesis string
	Signature       Signature
	Count, Runs     int // runs that show it, of how many
	Best            []Best
	Args            []string // flags of the runs, but for the seed
	Version         string
	State           State // since the file before; "" without one
	First           Seen  // where it was seen first
}

func (t Total) key() string { return t.Design + " × " + t.Nemesis + " " + t.Signature.id() }

// Rate is the share of runs that show it.
func (t Total) Rate() float64 { return float64(t.Count) / float64(max(1, t.Runs)) }

// State is what has become of a finding since the night before.
type State string

// The states.
const (
	New     State = "new"     // never seen before
	Ongoing State = "ongoing" // seen the night before
	Back    State = "back"    // seen before, and not the night before
	Gone    State = "gone"    // seen the night before, and not any more
)

// Known is a finding of earlier nights.
type Known struct {
	Design    string    `json:"design"`
	Nemesis   string    `json:"nemesis"`
	Signature Signature `json:"signature"`
	First     Seen      `json:"first"`
	Last      Seen      `json:"last"`
}

// Seen is a night on which a finding was seen.
type Seen struct {
	Night   int     `json:"night"`
	Seed    uint64  `json:"seed"` // of its best run
	Version string  `json:"lockcheck,omitempty"`
	Rate    float64 `json:"rate"` // share of the runs
}

// before orders nights; the other fields only make the order whole.
func (s Seen) before(o Seen) bool {
	return cmp.Or(cmp.Compare(s.Night, o.Night), cmp.Compare(s.Seed, o.Seed), strings.Compare(s.Version, o.Version), cmp.Compare(s.Rate, o.Rate)) < 0
}

func (k Known) key() string {
	return Total{Design: k.Design, Nemesis: k.Nemesis, Signature: k.Signature}.key()
}

// joined has every finding of two lists once, with its first and its last night.
func joined(a, b []Known) []Known {
	at := map[string]Known{}
	for _, k := range slices.Concat(a, b) {
		if old, known := at[k.key()]; known {
			if old.First.before(k.First) {
				k.First = old.First
			}
			if k.Last.before(old.Last) {
				k.Last = old.Last
			}
		}
		at[k.key()] = k
	}
	var all []Known
	for _, k := range at {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b Known) int { return strings.Compare(a.key(), b.key()) })
	return all
}

// Totals are the findings of all parts, the most frequent first.
func (f File) Totals() []Total {
	runs := map[string]int{}
	at := map[string]*Total{}
	for _, p := range f.Parts {
		runs[p.Design+" × "+p.Nemesis] += p.Tried
		for _, finding := range p.Findings {
			t := &Total{Design: p.Design, Nemesis: p.Nemesis, Signature: finding.Signature, Args: p.Args, Version: p.Version}
			if old := at[t.key()]; old != nil {
				t = old
			}
			at[t.key()] = t
			t.Count += finding.Count
			t.Best = better(slices.Concat(t.Best, finding.Best))
		}
	}
	var all []Total
	for _, t := range at {
		t.Runs = runs[t.Design+" × "+t.Nemesis]
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b Total) int {
		return cmp.Or(strings.Compare(a.Design+a.Nemesis, b.Design+b.Nemesis), cmp.Compare(b.Count, a.Count), strings.Compare(a.key(), b.key()))
	})
	return all
}

// Since is the file as the night after an earlier one, and its findings with their
// states, those that are gone last.
func (f File) Since(earlier File) (File, []Total) {
	f.Night = earlier.Night + 1
	known := map[string]Known{}
	for _, k := range earlier.Known {
		known[k.key()] = k
	}
	all := f.Totals()
	var now []Known
	for i := range all {
		t := &all[i]
		seen := Seen{Night: f.Night, Seed: t.Best[0].Seed, Version: t.Version, Rate: t.Rate()}
		k, old := known[t.key()]
		switch {
		case !old:
			t.State, t.First = New, seen
		case k.Last.Night == earlier.Night:
			t.State, t.First = Ongoing, k.First
		default:
			t.State, t.First = Back, k.First
		}
		now = append(now, Known{t.Design, t.Nemesis, t.Signature, t.First, seen})
		delete(known, t.key())
	}
	f.Known = joined(earlier.Known, now)
	for _, k := range earlier.Known {
		if _, gone := known[k.key()]; gone && k.Last.Night == earlier.Night {
			all = append(all, Total{Design: k.Design, Nemesis: k.Nemesis, Signature: k.Signature, State: Gone, First: k.First})
		}
	}
	return f, all
}
