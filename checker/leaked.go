package checker

import (
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// leaked: more units left the stock than the orders have.
//
//	A  sell ── write ok ✕ killed          no order, and nobody will write it
//
// Of lost orders that were accepted, nobody knows whether they took their
// units: these count for nothing.
func (r *run) leaked(k *keyed, s *balance, lost int64) {
	off := s.gone - s.booked - lost
	v := Violation{Property: StockMismatch, Units: off, From: k.audit.Time, To: k.audit.Time}
	twice, half := r.actedTwice(k), r.tookUnits(k, s.half)
	suspects := twice
	if len(suspects) == 0 {
		suspects = half
	}
	if len(suspects) > 0 {
		v.From = min(v.From, suspects[0].Call)
		r.blame(&v, suspects)
	}
	r.add(k, v, func(v *Violation) {
		v.Summary = sprintf("the books of %s do not balance: %s, the orders have %d%s: %s leaked",
			k.name, leftStock(s.gone), s.booked, andLost(lost), count(off, "unit"))
		switch {
		case len(twice) > 0:
			same := k.sellsOf(twice[0].Order)
			v.Evidence = evidence(same...)
			v.Cause, v.Because = r.whyTwice(k, same)
		case len(half) > 0:
			v.Evidence = r.saleEvidence(half[:min(len(half), maxCulprits)]...)
			v.Cause, v.Because = r.whyHalfway(half, off)
		}
		v.Faults = r.during(v.From, v.To)
	})
}

// leftStock tells how many units left the stock, or came to it.
func leftStock(gone int64) string {
	if gone < 0 {
		return sprintf("%s more %s in the stock than there were at first", count(-gone, "unit"), isAre(int(min(-gone, 2))))
	}
	return sprintf("%s left the stock", count(gone, "unit"))
}

func andLost(lost int64) string {
	if lost == 0 {
		return ""
	}
	return sprintf(", those that are lost %d", lost)
}

// tookUnits are those of some sells that may have taken units: of a key whose
// sells show their writes, those that sent one, and did not take it back.
func (r *run) tookUnits(k *keyed, sells []*histories.Op) []*histories.Op {
	if len(k.writes) == 0 {
		return sells
	}
	var took []*histories.Op
	for _, sell := range sells {
		if slices.ContainsFunc(r.steps(sell), func(step *histories.Op) bool {
			return step.F == histories.Write && step.Outcome != histories.Fail
		}) {
			took = append(took, sell)
		}
	}
	return took
}

// whyHalfway explains units that are gone by sells that stopped in the midst.
// Those whose write said ok did take them; if these are enough, the others are
// not asked. The cause is told if all that may be to blame were killed.
func (r *run) whyHalfway(sells []*histories.Op, gone int64) (Cause, string) {
	var sure []*histories.Op
	var taken int64
	for _, sell := range sells {
		if slices.ContainsFunc(r.steps(sell), func(step *histories.Op) bool {
			return step.F == histories.Write && step.Outcome == histories.OK
		}) {
			sure = append(sure, sell)
			taken += units(sell.Qty)
		}
	}
	if taken >= gone {
		sells = sure
	}
	why := sprintf("op %d of %s has no order, and its outcome is unknown since %s", sells[0].ID, workerName(sells[0].Process), moment(r.ended(sells[0])))
	var lost int64
	for _, sell := range sells {
		lost += units(sell.Qty)
		if sell.Return != histories.Never {
			return CauseUnknown, why
		}
	}
	if lost < gone {
		return CauseUnknown, why
	}
	why = sprintf("%s was killed at %s in the midst of op %d, which has no order", workerName(sells[0].Process), moment(r.ended(sells[0])), sells[0].ID)
	if len(sells) > 1 {
		why += sprintf("; %s ended like it", count(len(sells)-1, "more sell"))
	}
	return DiedHalfway, why
}
