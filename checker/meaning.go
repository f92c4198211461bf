package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// meaning tells why a run that found nothing has shown nothing, and what to do
// about it: nothing if it has shown something. A run means something if locks were granted and units
// sold, if there was traffic before, during and after each fault, and if each
// fault left proof that it bit. Histories without a nemesis in their header
// were not made to show anything about faults, and are not asked.
func (r *run) meaning(c Counts) lack {
	h := &r.h.Header
	if h.Nemesis == "" || r.opt.Trust {
		return lack{}
	}
	switch {
	case !r.spec.None && c.Grants == 0:
		return lack{"no lock was ever granted", adviseCalm}
	case c.Outcomes[histories.Sell+" "+string(histories.OK)] == 0:
		return lack{"nothing was ever sold", adviseCalm}
	case r.unaudited() > 0:
		return lack{sprintf("%s with sales not audited at the end", count(r.unaudited(), "key")), adviseAudit}
	case h.Nemesis == "none":
		return lack{}
	}
	for i := range r.h.Marks {
		if m := &r.h.Marks[i]; m.IsFault() && m.Error != "" {
			return lack{sprintf("the fault %s of %s at %s could not be injected: %s", m.F, targets(m), moment(m.Time), m.Error), adviseVariant}
		}
	}
	if len(r.faults) == 0 {
		return lack{sprintf("the nemesis %s injected no fault", h.Nemesis), adviseLonger}
	}
	t := r.traffic()
	for i := range r.faults {
		if l := r.meant(&r.faults[i], t); l.why != "" {
			return l
		}
	}
	if failsOver(h.Nemesis) && len(r.roles) == 0 {
		return lack{sprintf("the nemesis %s promoted no replica", h.Nemesis), adviseElection}
	}
	return lack{}
}

// failsOver reports whether a nemesis plans a change of master.
func failsOver(nemesis string) bool {
	return slices.ContainsFunc(strings.Split(nemesis, "+"), func(name string) bool {
		return name == "failover" || name == "switchover"
	})
}

// longFault is how long a fault must last before nothing tried in it is a
// sign of too little traffic: between two tries of a worker lies its work.
const longFault = int64(time.Second)

func (r *run) meant(f *fault, t traffic) lack {
	what := t.what
	switch {
	case f.event.Fault != nil && f.event.Proof == "": // what was not injected was seen to happen
		return lack{sprintf("no evidence that the fault took effect: %s", faultStory(f)), adviseVariant}
	case t.first > f.from:
		return lack{sprintf("no %s before a fault: %s", what, faultStory(f)), adviseLater}
	case f.to == histories.Never:
		return lack{sprintf("a fault was never undone: %s", faultStory(f)), adviseUndone}
	case t.last < f.to:
		return lack{sprintf("no %s after a fault: %s", what, faultStory(f)), adviseStock}
	case f.to-f.from >= longFault && !t.tried(f.from, f.to):
		return lack{sprintf("nobody did anything during a fault: %s", faultStory(f)), adviseTraffic}
	}
	return lack{}
}

// traffic is when a run did what it is about: grants of its lock, or sales
// where it has none.
type traffic struct {
	what          string
	first, last   int64   // answers that said ok
	calls, answer []int64 // of all operations, each in order
}

func (r *run) traffic() traffic {
	t := traffic{what: "lock was granted", first: histories.Never, last: -1}
	f := histories.Acquire
	if r.spec.None {
		t.what, f = "sale succeeded", histories.Sell
	}
	for i := range r.h.Ops {
		op := &r.h.Ops[i]
		if op.F == f && op.Outcome == histories.OK {
			t.first, t.last = min(t.first, op.Return), max(t.last, op.Return)
		}
		t.calls = append(t.calls, op.Call)
		t.answer = append(t.answer, op.Return)
	}
	slices.Sort(t.answer)
	return t
}

// tried reports whether something was on its way at some moment of [from, to].
func (t *traffic) tried(from, to int64) bool {
	begun, _ := slices.BinarySearch(t.calls, to+1)
	ended, _ := slices.BinarySearch(t.answer, from)
	return begun > ended
}
