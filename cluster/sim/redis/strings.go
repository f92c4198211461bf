package redis

import (
	"math"
	"strconv"
)

// text is the value of a string key.
type text string

func (text) kind() string   { return "string" }
func (t text) clone() value { return t }
func (t text) size() int    { return len(t) }

func (k *Keyspace) set(args []string) any {
	options, bad := parseSetOptions(args[3:], false)
	if bad != nil {
		return bad
	}
	when, bad := options.deadline("set", k.ms)
	if bad != nil {
		return bad
	}
	key, content := args[1], args[2]
	var before any
	if options.get {
		if before, bad = k.read(key); bad != nil {
			return bad
		}
	}
	if options.nx && k.find(key) != nil || options.xx && k.find(key) == nil {
		return before
	}
	k.store(key, content, when, options.keepTTL)
	if options.get {
		return before
	}
	return ok
}

// store sets a string key and tells the replicas: without conditions, since
// they were met, and with an absolute end.
func (k *Keyspace) store(key, content string, when int64, keepTTL bool) {
	k.touched = true
	switch e := k.find(key); {
	case keepTTL:
		if e != nil {
			when = e.expireAt
		}
		k.propagate("SET", key, content, "KEEPTTL")
	case when != 0:
		k.propagate("SET", key, content, "PXAT", strconv.FormatInt(when, 10))
	default:
		k.propagate("SET", key, content)
	}
	k.put(key, text(content), when)
}

// read answers the content of a string key, nil without it.
func (k *Keyspace) read(key string) (reply, bad any) {
	e := k.find(key)
	if e == nil {
		return nil, nil
	}
	content, isText := e.value.(text)
	if !isText {
		return nil, wrongType
	}
	return string(content), nil
}

func (k *Keyspace) get(args []string) any {
	content, bad := k.read(args[1])
	if bad != nil {
		return bad
	}
	return content
}

func (k *Keyspace) getSet(args []string) any {
	before, bad := k.read(args[1])
	if bad != nil {
		return bad
	}
	k.store(args[1], args[2], 0, false)
	return before
}

func (k *Keyspace) getDel(args []string) any {
	before, bad := k.read(args[1])
	if bad != nil {
		return bad
	}
	if before != nil {
		delete(k.entries, args[1])
		k.touched = true
		k.propagate("DEL", args[1])
	}
	return before
}

func (k *Keyspace) getEx(args []string) any {
	options, bad := parseSetOptions(args[2:], true)
	if bad != nil {
		return bad
	}
	key := args[1]
	content, bad := k.read(key)
	if bad != nil {
		return bad
	}
	if content == nil {
		return nil
	}
	when, bad := options.deadline("getex", k.ms)
	if bad != nil {
		return bad
	}
	k.retime(key, when, options)
	return content
}

// retime gives a key that is there the end that GETEX asks for.
func (k *Keyspace) retime(key string, when int64, options setOptions) {
	e := k.entries[key]
	switch {
	case options.expire != "" && !options.relative && when <= k.ms:
		delete(k.entries, key)
		k.propagate("DEL", key)
	case options.expire != "":
		e.expireAt = when
		k.propagate("PEXPIREAT", key, strconv.FormatInt(when, 10))
	case options.persist && e.expireAt != 0:
		e.expireAt = 0
		k.propagate("PERSIST", key)
	}
}

func (k *Keyspace) setNX(args []string) any {
	if k.find(args[1]) != nil {
		return int64(0)
	}
	k.store(args[1], args[2], 0, false)
	return int64(1)
}

func (k *Keyspace) setEx(args []string) any  { return k.setWithTTL("setex", args, 1000) }
func (k *Keyspace) psetEx(args []string) any { return k.setWithTTL("psetex", args, 1) }

func (k *Keyspace) setWithTTL(name string, args []string, unit int64) any {
	options := setOptions{expire: "EX", relative: true, unit: unit, amount: args[2]}
	when, bad := options.deadline(name, k.ms)
	if bad != nil {
		return bad
	}
	k.store(args[1], args[3], when, false)
	return ok
}

func (k *Keyspace) mset(args []string) any {
	if len(args)%2 == 0 {
		return wrongArity("mset")
	}
	for i := 1; i < len(args); i += 2 {
		k.find(args[i]) // an expired key is deleted, which replicas are told
		k.put(args[i], text(args[i+1]), 0)
	}
	k.touched = true
	return ok
}

// msetNX sets all keys, or none if one of them is there.
func (k *Keyspace) msetNX(args []string) any {
	if len(args)%2 == 0 {
		return wrongArity("msetnx")
	}
	for i := 1; i < len(args); i += 2 {
		if k.find(args[i]) != nil {
			return int64(0)
		}
	}
	k.mset(args)
	return int64(1)
}

func (k *Keyspace) mget(args []string) any {
	reply := make([]any, len(args)-1)
	for i, key := range args[1:] {
		if content, bad := k.read(key); bad == nil {
			reply[i] = content
		}
	}
	return reply
}

func (k *Keyspace) appendTo(args []string) any {
	before, bad := lookup[text](k, args[1])
	if bad != nil {
		return bad
	}
	k.change(args[1], before+text(args[2]))
	k.touched = true
	return count(len(before) + len(args[2]))
}

// getRange answers the bytes from one index to another, both included; negative
// ones count from the end.
func (k *Keyspace) getRange(args []string) any {
	from, isInt := integer(args[2])
	to, alsoInt := integer(args[3])
	if !isInt || !alsoInt {
		return notInteger
	}
	content, bad := lookup[text](k, args[1])
	if bad != nil {
		return bad
	}
	n := int64(len(content))
	if from < 0 && to < 0 && from > to {
		return ""
	}
	if from < 0 {
		from = max(0, n+from)
	}
	if to < 0 {
		to = max(0, n+to)
	}
	if to = min(to, n-1); n == 0 || from > to {
		return ""
	}
	return string(content[from : to+1])
}

// change sets a value and leaves the key's end as it is.
func (k *Keyspace) change(key string, v value) {
	if e := k.entries[key]; e != nil {
		e.value = v
	} else {
		k.entries[key] = &entry{value: v}
	}
}

func (k *Keyspace) incr(args []string) any { return k.addTo(args[1], 1) }
func (k *Keyspace) decr(args []string) any { return k.addTo(args[1], -1) }

func (k *Keyspace) incrBy(args []string) any {
	delta, isInt := integer(args[2])
	if !isInt {
		return notInteger
	}
	return k.addTo(args[1], delta)
}

func (k *Keyspace) decrBy(args []string) any {
	delta, isInt := integer(args[2])
	if !isInt {
		return notInteger
	}
	if delta == math.MinInt64 {
		return Error("ERR decrement would overflow")
	}
	return k.addTo(args[1], -delta)
}

func (k *Keyspace) addTo(key string, delta int64) any {
	before, bad := lookup[text](k, key)
	if bad != nil {
		return bad
	}
	n := int64(0)
	if k.entries[key] != nil {
		var isInt bool
		if n, isInt = integer(string(before)); !isInt {
			return notInteger
		}
	}
	sum, fits := add(n, delta)
	if !fits {
		return overflow
	}
	k.change(key, text(strconv.FormatInt(sum, 10)))
	k.touched = true
	return sum
}
