package redis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// zset is the value of a sorted set key.
type zset struct {
	scores map[string]float64
	sorted []scored // by score, then by member
}

type scored struct {
	member string
	score  float64
}

func (*zset) kind() string { return "zset" }
func (z *zset) clone() value {
	return &zset{maps.Clone(z.scores), slices.Clone(z.sorted)}
}

func newZset() *zset { return &zset{scores: map[string]float64{}} }

func (z *zset) size() int {
	if z == nil {
		return 0
	}
	return len(z.sorted)
}

func (a scored) compare(b scored) int {
	return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
}

func (z *zset) rank(member string) int {
	i, _ := slices.BinarySearchFunc(z.sorted, scored{member, z.scores[member]}, scored.compare)
	return i
}

func (z *zset) set(member string, score float64) {
	z.remove(member)
	z.scores[member] = score
	z.sorted = slices.Insert(z.sorted, z.rank(member), scored{member, score})
}

func (z *zset) remove(member string) bool {
	if _, found := z.scores[member]; !found {
		return false
	}
	i := z.rank(member)
	z.sorted = slices.Delete(z.sorted, i, i+1)
	delete(z.scores, member)
	return true
}

// zaddOptions are the options of ZADD.
type zaddOptions struct{ nx, xx, gt, lt, ch, incr bool }

// parseZadd reads the options and answers the scores and members behind
// them.
func parseZadd(args []string) (o zaddOptions, pairs []string, bad any) {
	flags := map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt, "CH": &o.ch, "INCR": &o.incr}
	for len(args) > 0 {
		flag := flags[strings.ToUpper(args[0])]
		if flag == nil {
			break
		}
		*flag = true
		args = args[1:]
	}
	switch {
	case len(args) == 0 || len(args)%2 != 0:
		return o, nil, syntaxError
	case o.nx && o.xx:
		return o, nil, Error("ERR XX and NX options at the same time are not compatible")
	case o.gt && o.nx, o.lt && o.nx, o.gt && o.lt:
		return o, nil, Error("ERR GT, LT, and/or NX options at the same time are not compatible")
	case o.incr && len(args) > 2:
		return o, nil, Error("ERR INCR option supports a single increment-element pair")
	}
	return o, args, nil
}

func (k *Keyspace) zadd(args []string) any {
	options, pairs, bad := parseZadd(args[2:])
	if bad != nil {
		return bad
	}
	scores := make([]float64, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		score, isFloat := float(pairs[i])
		if !isFloat {
			return notFloat
		}
		scores = append(scores, score)
	}
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z == nil && options.xx {
		if options.incr {
			return nil
		}
		return int64(0)
	}
	z, _ = obtain(k, args[1], newZset)
	return k.zaddAll(z, options, scores, pairs)
}

// zaddAll adds members that have been parsed.
func (k *Keyspace) zaddAll(z *zset, options zaddOptions, scores []float64, pairs []string) any {
	added, updated := 0, 0
	for i, score := range scores {
		member := pairs[2*i+1]
		before, found := z.scores[member]
		if options.incr && found {
			score += before
			if math.IsNaN(score) {
				return Error("ERR resulting score is not a number (NaN)")
			}
		}
		if !options.allow(found, before, score) {
			if options.incr {
				return nil
			}
			continue
		}
		if !found {
			added++
		} else if score != before {
			updated++
		}
		if !found || score != before {
			z.set(member, score)
		}
		if options.incr {
			k.touched = added+updated > 0
			return formatFloat(score)
		}
	}
	k.touched = added+updated > 0
	if options.ch {
		return count(added + updated)
	}
	return count(added)
}

func (o zaddOptions) allow(found bool, before, score float64) bool {
	switch {
	case o.nx && found, o.xx && !found:
		return false
	case found && o.gt && score <= before, found && o.lt && score >= before:
		return false
	}
	return true
}

func (k *Keyspace) zrem(args []string) any {
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z == nil {
		return int64(0)
	}
	removed := 0
	for _, member := range args[2:] {
		if z.remove(member) {
			removed++
		}
	}
	k.dropEmptyZset(args[1], z)
	k.touched = removed > 0
	return count(removed)
}

func (k *Keyspace) dropEmptyZset(key string, z *zset) {
	if len(z.sorted) == 0 {
		delete(k.entries, key)
	}
}

func (k *Keyspace) zscore(args []string) any {
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z != nil {
		if score, found := z.scores[args[2]]; found {
			return formatFloat(score)
		}
	}
	return nil
}

func (k *Keyspace) zrank(args []string) any {
	z, bad := lookup[*zset](k, args[1])
	if bad != nil {
		return bad
	}
	if z != nil {
		if _, found := z.scores[args[2]]; found {
			return count(z.rank(args[2]))
		}
	}
	return nil
}
