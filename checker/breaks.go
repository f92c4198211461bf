package checker

import (
	"sort"

	"github.com/lockcheck/lockcheck/histories"
)

// A break deletes a lock without being its release: a janitor that takes it
// for abandoned, an operator. The worker that had it learns nothing and goes on
// believing, so a break never ends a belief; it only explains what the lock
// service does afterwards.
//
//	A  acquire ok [═══ believes ══════════════) release ─ not the owner
//	J               break ─ ok
//	B                           acquire ok [═══

// brokenBetween is the break that deleted the lock under a before b was
// granted it; nil if none certainly did. One that names no owner may have found
// somebody else's lock once the lease of a can have run out.
func (r *run) brokenBetween(k *keyed, a, b *hold) *histories.Op {
	for _, op := range k.breaks {
		if op.Call > b.from {
			break
		}
		if op.Outcome != histories.OK || op.Call < a.from || !mayBreak(op, a.acquire) {
			continue
		}
		over, _ := r.whyLeaseEnded(k, a, op.Return)
		if op.Token != "" && a.acquire.Token != "" || over == CauseUnknown {
			return op
		}
	}
	return nil
}

// mayBreak reports whether what a break found can be the lock of a grant. A
// break names the owner as the lock service has it, which the recorder's "#op"
// is no part of.
func mayBreak(op, acquire *histories.Op) bool {
	return op.Token == "" || acquire.Token == "" || op.Token == acquire.Token || op.Token == ownerOf(acquire)
}

// breakIndex finds the first break that may have deleted what a grant made.
type breakIndex struct {
	all, nameless []lasting            // by call
	byToken       map[string][]lasting // by call
}

// lasting is when a break was called, and until when it or one before it may
// have acted.
type lasting struct{ call, ended int64 }

func (r *run) breaksOf(k *keyed) breakIndex {
	x := breakIndex{byToken: map[string][]lasting{}}
	for _, op := range k.breaks {
		ended := op.Return
		switch op.Outcome {
		case histories.Fail:
			continue
		case histories.Info:
			ended = r.lastsUntil(op)
		}
		x.all = withLasting(x.all, op.Call, ended)
		if op.Token == "" {
			x.nameless = withLasting(x.nameless, op.Call, ended)
		} else {
			x.byToken[op.Token] = withLasting(x.byToken[op.Token], op.Call, ended)
		}
	}
	return x
}

func withLasting(list []lasting, call, ended int64) []lasting {
	if n := len(list); n > 0 {
		ended = max(ended, list[n-1].ended)
	}
	return append(list, lasting{call, ended})
}

// of is from when on a grant may have been deleted; Never if no break came.
func (x *breakIndex) of(acquire *histories.Op) int64 {
	lists := [][]lasting{x.nameless, x.byToken[acquire.Token], x.byToken[ownerOf(acquire)]}
	if acquire.Token == "" {
		lists = [][]lasting{x.all}
	}
	first := int64(histories.Never)
	for _, list := range lists {
		i := sort.Search(len(list), func(i int) bool { return list[i].ended >= acquire.Call })
		if i < len(list) {
			first = min(first, list[i].call)
		}
	}
	return first
}

// endOr is the end of a grant, or the first break that may have deleted it: from
// then on it may be gone. What its worker is told afterwards, it is told by right.
func (r *run) endOr(k *keyed, end func(*histories.Op) int64) func(*histories.Op) int64 {
	x := r.breaksOf(k)
	if len(x.all) == 0 {
		return end
	}
	return func(acquire *histories.Op) int64 { return min(end(acquire), x.of(acquire)) }
}
