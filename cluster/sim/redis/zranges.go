package redis

import (
	"slices"
	"strings"
)

// zrangeOptions are the options of ZRANGE and ZRANGEBYSCORE.
type zrangeOptions struct {
	byScore, reverse, withScores bool
	offset, limit                int64 // limit -1: none
}

// parseZrange reads the options; those of ZRANGE only if auto. Ranges by
// name (BYLEX) are not modelled: they are a syntax error.
func parseZrange(args []string, auto bool) (o zrangeOptions, bad any) {
	o.byScore, o.limit = !auto, -1
	for i := 0; i < len(args); i++ {
		switch option := args[i]; {
		case is(option, "WITHSCORES"):
			o.withScores = true
		case is(option, "LIMIT") && i+2 < len(args):
			if o.offset, o.limit, bad = bounds(args[i+1], args[i+2]); bad != nil {
				return o, bad
			}
			i += 2
		case auto && is(option, "REV"):
			o.reverse = true
		case auto && is(option, "BYSCORE"):
			o.byScore = true
		default:
			return o, syntaxError
		}
	}
	if o.limit != -1 && !o.byScore {
		return o, Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	}
	return o, nil
}

// scoreRange is a range of scores; each end may be left out.
type scoreRange struct {
	min, max     float64
	minEx, maxEx bool
}

func parseScoreRange(low, high string) (r scoreRange, bad any) {
	low, r.minEx = strings.CutPrefix(low, "(")
	high, r.maxEx = strings.CutPrefix(high, "(")
	var isFloat, isFloatToo bool
	r.min, isFloat = float(low)
	r.max, isFloatToo = float(high)
	if !isFloat || !isFloatToo {
		return r, Error("ERR min or max is not a float")
	}
	return r, nil
}

func (r scoreRange) contains(score float64) bool {
	if score < r.min || score > r.max || r.minEx && score == r.min || r.maxEx && score == r.max {
		return false
	}
	return true
}

// within answers the members in a range of scores, in order.
func (z *zset) within(r scoreRange) []scored {
	from := slices.IndexFunc(z.sorted, func(s scored) bool { return r.contains(s.score) })
	if from < 0 {
		return nil
	}
	to := from
	for to < len(z.sorted) && r.contains(z.sorted[to].score) {
		to++
	}
	return z.sorted[from:to]
}

func (k *Keyspace) zrange(args []string) any        { return k.zrangeAny(args, true) }
func (k *Keyspace) zrangeByScore(args []string) any { return k.zrangeAny(args, false) }

func (k *Keyspace) zrangeAny(args []string, auto bool) any {
	options, bad := parseZrange(args[4:], auto)
	if bad != nil {
		return bad
	}
	pick, bad := options.picker(args[2], args[3])
	if bad != nil {
		return bad
	}
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z == nil {
		return []any{}
	}
	reply := []any{}
	for _, s := range pick(z) {
		reply = append(reply, s.member)
		if options.withScores {
			reply = append(reply, formatFloat(s.score))
		}
	}
	return reply
}

// picker parses the two ends of a range and answers what picks it out of a
// sorted set.
func (o zrangeOptions) picker(low, high string) (func(*zset) []scored, any) {
	if !o.byScore {
		first, last, bad := bounds(low, high)
		return func(z *zset) []scored {
			sorted := o.directed(z.sorted)
			from, to := span(first, last, len(sorted))
			return sorted[from:to]
		}, bad
	}
	if o.reverse {
		low, high = high, low
	}
	r, bad := parseScoreRange(low, high)
	return func(z *zset) []scored {
		return o.limited(o.directed(z.within(r)))
	}, bad
}

func (o zrangeOptions) directed(members []scored) []scored {
	if o.reverse {
		members = slices.Clone(members)
		slices.Reverse(members)
	}
	return members
}

// limited cuts members by LIMIT: a negative offset finds none, a negative
// limit all.
func (o zrangeOptions) limited(members []scored) []scored {
	if o.offset < 0 || o.offset > int64(len(members)) {
		return nil
	}
	members = members[o.offset:]
	if o.limit >= 0 {
		members = members[:min(o.limit, int64(len(members)))]
	}
	return members
}

func (k *Keyspace) zremRangeByScore(args []string) any {
	r, bad := parseScoreRange(args[2], args[3])
	if bad != nil {
		return bad
	}
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z == nil {
		return int64(0)
	}
	gone := slices.Clone(z.within(r))
	for _, s := range gone {
		z.remove(s.member)
	}
	k.dropEmptyZset(args[1], z)
	k.touched = len(gone) > 0
	return count(len(gone))
}
