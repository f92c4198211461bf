package checker

// lack is what a run lacks to mean something, and what gives it that. Flags are
// those of lockcheck run; a history of one's own is recorded again likewise.
type lack struct{ why, advice string }

// Advice on runs that meant too little.
const (
	adviseCalm     = "try --nemesis=none first: a lock that nobody gets without faults, or a shop without stock, shows nothing under them either"
	adviseAudit    = "let the run end by itself: the stock of each key is read last, after faults are healed (f: audit, in a history of your own)"
	adviseVariant  = "lockcheck list NEMESIS says what a fault needs; another --variant or another --seed may find it"
	adviseLonger   = "give it more time: a longer --time-limit, or a shorter --interval"
	adviseLater    = "let the first fault come later: a longer --interval, and a --time-limit of several of them"
	adviseStock    = "more --stock or --skus, if it was sold out by then; else a longer --time-limit"
	adviseTraffic  = "more --concurrency, a shorter --think, or more --stock"
	adviseUndone   = "run it again to its end; lockcheck clean removes what real servers left"
	adviseElection = "give a replica time to be promoted: a longer --time-limit, or a shorter --down-after"
	adviseEvents   = "record acquire and release of the lock, and sell of the shop: docs/history-format.md"
	adviseLease    = "let the run go on for longer than TTL + grace after the last fault: a longer --time-limit, or a shorter --ttl"
	adviseSells    = "record with each write the sell that it belongs to: docs/history-format.md"
	adviseSearch   = "more steps for the search (check --budget), or fewer operations on one key; tokens and orders that never come again are decided exactly, at any size"
)

// adviceOn is what to do where a property could not be decided.
func (r *run) adviceOn(rank int) string {
	for _, k := range r.keys {
		if f := k.found[rank]; f != nil && f.unknown != "" {
			return f.advice
		}
	}
	return ""
}
