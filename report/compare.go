package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Kind says how a cell differs from the night before.
type Kind string

// The kinds of change.
const (
	New        Kind = "new"         // a violation where there had been none
	StillThere Kind = "still there" // a violation, as before
	RateUp     Kind = "more often"  // a violation, and its rate has risen beyond chance
	RateDown   Kind = "less often"  // a violation, and its rate has fallen beyond chance
	Gone       Kind = "gone"        // no violation where there had been one
	NotRun     Kind = "not run"     // a violation before, and the cell was not run now
)

// Change is one cell in which a violation was found before, now, or both.
type Change struct {
	Kind    Kind   `json:"kind"`
	Design  string `json:"design"`
	Nemesis string `json:"nemesis"`
	Before  Rate   `json:"before"`
	Now     Rate   `json:"now"`
	// Luck is the chance that runs as before would have looked like those of
	// now or still further off: of a Gone cell, that its violation was merely
	// not met again.
	Luck float64 `json:"luck,omitempty"`
}

// Rate is how many runs of a cell were invalid.
type Rate struct {
	Invalid int `json:"invalid"`
	Runs    int `json:"runs"`
}

// String is the rate as a fraction: "3 of 10".
func (r Rate) String() string { return fmt.Sprintf("%d of %d", r.Invalid, r.Runs) }

func (c *Cell) rate() Rate {
	if c == nil {
		return Rate{}
	}
	return Rate{c.Invalid, c.Runs}
}

// beyondChance is the level below which a difference of rates counts.
const beyondChance = 0.01

// Compare says what has changed between two matrices, the worst first: new
// violations, then risen rates, then the rest. Cells that are clean both
// times are left out.
//
// Rates of few runs differ by chance from night to night. A rate counts as
// changed only where Fisher's exact test says that chance alone would do this
// in fewer than one of a hundred nights.
func Compare(before, now Matrix) []Change {
	var list []Change
	seen := map[cellID]bool{}
	earlier, later := before.grid(), now.grid()
	for _, c := range slices.Concat(now.Cells, before.Cells) {
		if seen[c.id()] {
			continue
		}
		seen[c.id()] = true
		old, cur := earlier.find(c.Design, c.Nemesis).rate(), later.find(c.Design, c.Nemesis).rate()
		if old.Invalid == 0 && cur.Invalid == 0 {
			continue
		}
		ch := Change{Design: c.Design, Nemesis: c.Nemesis, Before: old, Now: cur}
		ch.Kind, ch.Luck = classify(old, cur)
		list = append(list, ch)
	}
	order := []Kind{New, RateUp, StillThere, RateDown, Gone, NotRun}
	slices.SortStableFunc(list, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return list
}

// classify names the change between two rates, at least one of them above 0.
func classify(old, cur Rate) (Kind, float64) {
	if cur.Runs == 0 {
		return NotRun, 0
	}
	luck := fisher(old, cur)
	switch {
	case old.Invalid == 0:
		return New, 0
	case cur.Invalid == 0:
		return Gone, luck
	case luck >= beyondChance:
		return StillThere, 0
	case cur.Invalid*old.Runs > old.Invalid*cur.Runs:
		return RateUp, luck
	}
	return RateDown, luck
}

// fisher is the two-sided p of Fisher's exact test on two rates: the chance,
// if both had one true rate, of a split at least as unlikely as this one.
func fisher(a, b Rate) float64 {
	total, invalid := a.Runs+b.Runs, a.Invalid+b.Invalid
	p := func(k int) float64 { // that k of the invalid runs are among a's
		return math.Exp(choices(a.Runs, k) + choices(b.Runs, invalid-k) - choices(total, invalid))
	}
	const rounding = 1 + 1e-7
	seen, sum := p(a.Invalid), 0.0
	for k := max(0, invalid-b.Runs); k <= min(invalid, a.Runs); k++ {
		if q := p(k); q <= seen*rounding {
			sum += q
		}
	}
	return math.Min(1, sum)
}

// choices is the logarithm of n over k.
func choices(n, k int) float64 {
	f := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return f(n) - f(k) - f(n-k)
}

// Text is the change in a sentence.
func (c Change) Text() string {
	s := fmt.Sprintf("%s × %s: ", plain(c.Design), plain(c.Nemesis))
	switch c.Kind {
	case New:
		if c.Before.Runs == 0 {
			return s + fmt.Sprintf("invalid in %s runs; not run before", c.Now)
		}
		return s + fmt.Sprintf("invalid in %s runs, none of %d before", c.Now, c.Before.Runs)
	case Gone:
		return s + fmt.Sprintf("none of %d runs invalid, %s before%s", c.Now.Runs, c.Before, c.doubt())
	case NotRun:
		return s + fmt.Sprintf("not run; invalid in %s runs before", c.Before)
	}
	return s + fmt.Sprintf("invalid in %s runs, %s before", c.Now, c.Before)
}

// doubt says that a violation may only have been missed.
func (c Change) doubt() string {
	if c.Luck < beyondChance {
		return ""
	}
	return fmt.Sprintf(" (may be luck: p = %.2g)", c.Luck)
}
