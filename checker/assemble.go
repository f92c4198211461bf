package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// verdict puts the findings of all keys together.
func (r *run) verdict() *Verdict {
	v := &Verdict{
		Outcome: NotLooked,
		Levels:  map[Level]Outcome{LockLevel: NotLooked, UseLevel: NotLooked, BusinessLevel: NotLooked},
		Source:  r.h.Header.Source,
		Notes:   slices.Clone(r.h.Notes),
		Counts:  r.counts(),
		Zombie:  r.zombieTime(),
	}
	there := r.lookedAt()
	for rank := range Properties {
		result, violations := r.result(rank, there)
		v.Results = append(v.Results, result)
		v.Violations = append(v.Violations, violations...)
		v.Levels[result.Level] = Worse(v.Levels[result.Level], result.Outcome)
		v.Outcome = Worse(v.Outcome, result.Outcome)
		if result.Outcome == Unknown && v.Reason == "" {
			v.Reason, v.Advice = fmt.Sprintf("%s: %s", result.Property, result.Reason), r.adviceOn(rank)
		}
	}
	if v.Outcome == NotLooked {
		v.Outcome, v.Reason, v.Advice = Unknown, "nothing was looked at: the history has no lock that was granted or refused, and no sale", adviseEvents
	}
	slices.SortStableFunc(v.Violations, byTime)
	r.disagreements(v)
	if l := r.meaning(v.Counts); l.why != "" {
		v.Outcome, v.Reason, v.Advice = Worse(v.Outcome, Unknown), l.why, l.advice
	}
	if v.Outcome != Unknown {
		v.Reason, v.Advice = "", ""
	}
	v.Warnings = r.warnings()
	return v
}

// byTime puts the root first: what began first, and of what began together,
// the lock before the use before the business.
func byTime(a, b Violation) int {
	return cmp.Or(cmp.Compare(a.since(), b.since()), cmp.Compare(a.Property.rank(), b.Property.rank()), strings.Compare(a.Key, b.Key))
}

// since is the moment from which on the violation is a fact. That no order
// fits is one only when the last of the operations is there.
func (v *Violation) since() int64 {
	if v.Property == LockNotLinearizable || v.Property == StockNotLinearizable {
		return v.To
	}
	return v.From
}

// result is the verdict on one property over all keys, with the violations to
// list, told in full.
func (r *run) result(rank int, there looked) (Result, []Violation) {
	p := Properties[rank]
	res := Result{Property: p.Name, Level: p.Level, Outcome: Valid}
	var all []finding
	var unknown []string
	same := 0
	for _, k := range r.keys {
		f := k.found[rank]
		if f == nil {
			continue
		}
		if f.method.disagree != "" {
			unknown = append(unknown, f.method.disagree) // neither answer is believed
			continue
		}
		res.Count += f.count
		same += f.same
		all = append(all, f.list...)
		if f.unknown != "" {
			unknown = append(unknown, f.unknown)
		}
	}
	missing := r.missing(p.Name, there)
	switch {
	case res.Count+same > 0:
		res.Outcome = Invalid
	case len(unknown) > 0:
		res.Outcome, res.Reason = Unknown, unknown[0]
		if len(unknown) > 1 {
			res.Reason += fmt.Sprintf(" (and %d more)", len(unknown)-1)
		}
	case missing != "":
		res.Outcome, res.Reason = NotLooked, missing
		return res, nil
	}
	if res.Count == 0 && same > 0 {
		res.Count, res.Reason = same, "the same fact as another violation of the lock"
	}
	res.Method, res.Recheck = r.methodOf(rank)
	return res, r.listed(all)
}

// listed are the first of some violations, told in full.
func (r *run) listed(all []finding) []Violation {
	slices.SortStableFunc(all, func(a, b finding) int { return byTime(a.Violation, b.Violation) })
	var list []Violation
	for _, f := range all[:min(len(all), r.opt.MaxListed)] {
		if f.tell != nil {
			f.tell(&f.Violation)
		}
		if r.h.Header.Passive {
			f.Cause, f.Because = CauseUnknown, ""
		}
		list = append(list, f.Violation)
	}
	return list
}

// methodOf says how a property was decided, and by what again.
func (r *run) methodOf(rank int) (method, recheck string) {
	p := Properties[rank].Name
	switch {
	case p == LockNotLinearizable || p == StockNotLinearizable:
		return r.linearMethod(rank)
	case p == StockMismatch && r.unaudited() > 0:
		return fmt.Sprintf("exact, but %s not audited", count(r.unaudited(), "key")), ""
	}
	return "exact", ""
}

func (r *run) linearMethod(rank int) (method, recheck string) {
	var exact, searched, agrees int
	for _, k := range r.keys {
		if k.found[rank] == nil {
			continue
		}
		m := k.found[rank].method
		exact += one(m.exact)
		searched += one(m.search)
		agrees += one(m.agrees)
	}
	switch {
	case agrees == 0:
	case agrees == exact && searched == 0:
		recheck = "porcupine agrees"
	default:
		recheck = fmt.Sprintf("porcupine agrees on %d of %s", agrees, count(exact, "key"))
	}
	switch {
	case exact+searched == 0:
		return "", ""
	case exact == 0:
		return "porcupine", ""
	case searched > 0:
		return fmt.Sprintf("exact on %s, porcupine on %d", count(exact, "key"), searched), recheck
	}
	return "exact", recheck
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unaudited is the number of keys with sells but without an audit.
func (r *run) unaudited() int {
	n := 0
	for _, k := range r.keys {
		n += one(k.books != nil && k.books.sells > 0 && (k.audit == nil || !k.audit.Value.Known))
	}
	return n
}

// disagreements makes an error of ours loud: where two ways to decide one
// question answer differently, nothing is known about it. What is violated
// besides stays violated.
func (r *run) disagreements(v *Verdict) {
	for _, k := range r.keys {
		for _, f := range k.found {
			if f != nil && f.method.disagree != "" {
				v.Notes = append(v.Notes, fmt.Sprintf("%v: %s", errDisagree, f.method.disagree))
				v.Reason, v.Advice = "our checks disagree: please report this history", ""
			}
		}
	}
}
