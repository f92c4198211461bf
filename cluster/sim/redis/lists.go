package redis

import (
	"math"
	"slices"
)

// list is the value of a list key, from left to right.
type list struct{ items []string }

func (*list) kind() string   { return "list" }
func (l *list) clone() value { return &list{slices.Clone(l.items)} }

func newList() *list { return &list{} }

func (l *list) size() int {
	if l == nil {
		return 0
	}
	return len(l.items)
}

func (l *list) push(left bool, item string) {
	if left {
		l.items = slices.Insert(l.items, 0, item)
	} else {
		l.items = append(l.items, item)
	}
}

// pop takes an item from a list that has one.
func (l *list) pop(left bool) string {
	at := len(l.items) - 1
	if left {
		at = 0
	}
	item := l.items[at]
	l.items = slices.Delete(l.items, at, at+1)
	return item
}

func (k *Keyspace) lpush(args []string) any { return k.push(args, true) }
func (k *Keyspace) rpush(args []string) any { return k.push(args, false) }

func (k *Keyspace) push(args []string, left bool) any {
	l, bad := obtain(k, args[1], newList)
	if bad != nil {
		return bad
	}
	for _, item := range args[2:] {
		l.push(left, item)
	}
	k.touched = true
	return count(len(l.items))
}

func (k *Keyspace) lpop(args []string) any { return k.pop("lpop", args, true) }
func (k *Keyspace) rpop(args []string) any { return k.pop("rpop", args, false) }

func (k *Keyspace) pop(name string, args []string, left bool) any {
	if len(args) > 3 {
		return wrongArity(name)
	}
	n, many := int64(1), len(args) == 3
	if many {
		var bad any
		if n, bad = notNegative(args[2]); bad != nil {
			return bad
		}
	}
	l, bad := lookup[*list](k, args[1])
	if bad != nil {
		return bad
	}
	if l == nil {
		return nil
	}
	items := []any{}
	for ; n > 0 && len(l.items) > 0; n-- {
		items = append(items, l.pop(left))
		k.touched = true
	}
	k.dropEmpty(args[1], l)
	if many {
		return items
	}
	return items[0]
}

// notNegative reads a number from 0 up.
func notNegative(arg string) (int64, any) {
	n, isInt := integer(arg)
	if !isInt || n < 0 {
		return 0, Error("ERR value is out of range, must be positive")
	}
	return n, nil
}

// dropEmpty deletes a key with its last item.
func (k *Keyspace) dropEmpty(key string, l *list) {
	if len(l.items) == 0 {
		delete(k.entries, key)
	}
}

// span turns two indexes, negative ones from the end, into a slice's bounds.
func span(from, to int64, length int) (int, int) {
	n := int64(length)
	if from < 0 {
		from = max(0, from+n)
	}
	if to < 0 {
		to += n
	}
	to = min(to, n-1)
	if from > to {
		return 0, 0
	}
	return int(from), int(to) + 1
}

// bounds reads two indexes.
func bounds(from, to string) (int64, int64, any) {
	first, isInt := integer(from)
	last, isIntToo := integer(to)
	if !isInt || !isIntToo {
		return 0, 0, notInteger
	}
	return first, last, nil
}

func (k *Keyspace) lrange(args []string) any {
	first, last, bad := bounds(args[2], args[3])
	if bad != nil {
		return bad
	}
	l, bad := lookup[*list](k, args[1])
	if bad != nil {
		return bad
	}
	if l == nil {
		return []any{}
	}
	from, to := span(first, last, len(l.items))
	return bulk(l.items[from:to])
}

func (k *Keyspace) lindex(args []string) any {
	l, bad := lookup[*list](k, args[1])
	if bad != nil {
		return bad
	}
	if l == nil {
		return nil
	}
	at, isInt := integer(args[2])
	if !isInt {
		return notInteger
	}
	if at < 0 {
		at += int64(len(l.items))
	}
	if at < 0 || at >= int64(len(l.items)) {
		return nil
	}
	return l.items[at]
}

func (k *Keyspace) lrem(args []string) any {
	n, isInt := integer(args[2])
	if !isInt {
		return notInteger
	}
	l, bad := lookup[*list](k, args[1])
	if bad != nil {
		return bad
	}
	if l == nil {
		return int64(0)
	}
	removed := l.remove(args[3], n)
	k.dropEmpty(args[1], l)
	k.touched = removed > 0
	return count(removed)
}

// remove takes out the first n equal items, from the right if n is negative,
// all if it is 0.
func (l *list) remove(item string, n int64) int {
	if n < 0 {
		slices.Reverse(l.items)
		defer func() { slices.Reverse(l.items) }()
		n = -max(n, -math.MaxInt64)
	}
	removed := 0
	l.items = slices.DeleteFunc(l.items, func(other string) bool {
		if other != item || n > 0 && int64(removed) == n {
			return false
		}
		removed++
		return true
	})
	return removed
}

func (k *Keyspace) rpopLpush(args []string) any {
	return k.move(args[1], args[2], false, true)
}

func (k *Keyspace) lmove(args []string) any {
	for _, side := range args[3:5] {
		if !is(side, "LEFT") && !is(side, "RIGHT") {
			return syntaxError
		}
	}
	return k.move(args[1], args[2], is(args[3], "LEFT"), is(args[4], "LEFT"))
}

func (k *Keyspace) move(from, to string, popLeft, pushLeft bool) any {
	source, bad := lookup[*list](k, from)
	if bad != nil {
		return bad
	}
	if source == nil {
		return nil
	}
	target, bad := obtain(k, to, newList)
	if bad != nil {
		return bad
	}
	item := source.pop(popLeft)
	target.push(pushLeft, item)
	k.dropEmpty(from, source)
	k.touched = true
	return item
}
