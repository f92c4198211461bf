// Package spelling guesses which of our words was meant by one that we do not
// know, so that an error can name it.
package spelling

import "strings"

// others are words that other formats and other people use for fields and
// words of ours, where spelling alone would not lead there.
var others = map[string][]string{
	"id": {"order", "op"}, "orderid": {"order"}, "orders": {"order"}, "quantity": {"qty"}, "amount": {"qty"}, "units": {"qty"}, "count": {"qty"},
	"deadline": {"until"}, "expires": {"until"}, "expiry": {"until"}, "validuntil": {"until"}, "lease": {"ttl"}, "leasetime": {"ttl"}, "expire": {"ttl"},
	"timestamp": {"time"}, "ts": {"time"}, "at": {"time"}, "worker": {"process"}, "client": {"process"}, "thread": {"process"},
	"function": {"f"}, "operation": {"f"}, "kind": {"type"}, "reason": {"error"}, "err": {"error"}, "message": {"error"},
	"lock": {"key"}, "sku": {"key"}, "resource": {"key"}, "stock": {"value"}, "remaining": {"left"}, "owner": {"token"}, "lockid": {"token"},
	"fencing": {"fence"}, "fencingtoken": {"fence"}, "target": {"targets"}, "comment": {"note"}, "delay": {"after"}, "duration": {"for"},
}

// Nearest is the name that was probably meant, "" if none is near.
func Nearest(name string, names []string) string {
	plain := letters(name)
	for _, known := range names {
		if letters(known) == plain {
			return known
		}
	}
	for _, other := range others[plain] {
		for _, known := range names {
			if known == other {
				return known
			}
		}
	}
	best, least := "", len(plain)/3+1
	for _, known := range names {
		k := letters(known)
		d := Distance(plain, k)
		if len(k) > 2 && strings.HasPrefix(plain, k) {
			d = min(d, 1) // ttl_ms
		}
		if d < least && d < len(k) {
			best, least = known, d
		}
	}
	return best
}

// letters is a name without its case and signs: max_delay is max-delay.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(name[:min(len(name), 64)]))
}

// Distance is how many letters must be changed, added, left out, or swapped
// with their neighbour.
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now := make([]int, len(b)+1)
		now[0] = i
		for j := 1; j <= len(b); j++ {
			now[j] = min(last[j]+1, now[j-1]+1)
			if a[i-1] == b[j-1] {
				now[j] = min(now[j], last[j-1])
			} else {
				now[j] = min(now[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}
