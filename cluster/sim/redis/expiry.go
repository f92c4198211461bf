package redis

import (
	"math"
	"strconv"
)

// deadline turns an expire argument into milliseconds since 1970. unit is
// the argument's in milliseconds. It refuses what the server refuses:
// numbers that overflow.
func deadline(n, unit int64, relative bool, now int64) (int64, bool) {
	if unit > 1 && (n > math.MaxInt64/unit || n < math.MinInt64/unit) {
		return 0, false
	}
	n *= unit
	if relative {
		if n > math.MaxInt64-now {
			return 0, false
		}
		n += now
	}
	return n, true
}

func (k *Keyspace) expire(args []string) any    { return k.setExpire("expire", args, 1000, true) }
func (k *Keyspace) pexpire(args []string) any   { return k.setExpire("pexpire", args, 1, true) }
func (k *Keyspace) expireAt(args []string) any  { return k.setExpire("expireat", args, 1000, false) }
func (k *Keyspace) pexpireAt(args []string) any { return k.setExpire("pexpireat", args, 1, false) }

func (k *Keyspace) setExpire(name string, args []string, unit int64, relative bool) any {
	conditions, bad := expireConditions(args[3:])
	if bad != nil {
		return bad
	}
	n, isInt := integer(args[2])
	if !isInt {
		return notInteger
	}
	when, fits := deadline(n, unit, relative, k.ms)
	if !fits {
		return invalidExpire(name)
	}
	key := args[1]
	e := k.find(key)
	if e == nil || !conditions.allow(e.expireAt, when) {
		return int64(0)
	}
	k.touched = true
	if when <= k.ms && k.mode != applying {
		delete(k.entries, key)
		k.propagate("DEL", key)
		return int64(1)
	}
	e.expireAt = when
	k.propagate("PEXPIREAT", key, strconv.FormatInt(when, 10))
	return int64(1)
}

// conditions are the options of EXPIRE.
type conditions struct{ nx, xx, gt, lt bool }

func expireConditions(options []string) (c conditions, bad any) {
	for _, option := range options {
		switch {
		case is(option, "NX"):
			c.nx = true
		case is(option, "XX"):
			c.xx = true
		case is(option, "GT"):
			c.gt = true
		case is(option, "LT"):
			c.lt = true
		default:
			return c, Error("ERR Unsupported option " + option)
		}
	}
	if c.nx && (c.xx || c.gt || c.lt) {
		return c, Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	}
	if c.gt && c.lt {
		return c, Error("ERR GT and LT options at the same time are not compatible")
	}
	return c, nil
}

// allow compares the end that a key has (0: none, which is later than any)
// with the one that it shall have.
func (c conditions) allow(old, when int64) bool {
	switch {
	case c.nx && old != 0, c.xx && old == 0:
		return false
	case c.gt && (old == 0 || when <= old):
		return false
	case c.lt && old != 0 && when >= old:
		return false
	}
	return true
}

func (k *Keyspace) ttl(args []string) any {
	left := k.remaining(args[1])
	if left < 0 {
		return left
	}
	return (left + 500) / 1000
}

func (k *Keyspace) pttl(args []string) any { return k.remaining(args[1]) }

// remaining is the time to live in milliseconds; negative as end is.
func (k *Keyspace) remaining(key string) int64 {
	when := k.end(key)
	if when < 0 {
		return when
	}
	return max(0, when-k.ms)
}

func (k *Keyspace) expireTime(args []string) any {
	when := k.end(args[1])
	if when < 0 {
		return when
	}
	return (when + 500) / 1000
}

func (k *Keyspace) pexpireTime(args []string) any { return k.end(args[1]) }

// end is when the key ends, in milliseconds since 1970: -2 without the key,
// -1 without an end.
func (k *Keyspace) end(key string) int64 {
	switch e := k.find(key); {
	case e == nil:
		return -2
	case e.expireAt == 0:
		return -1
	default:
		return e.expireAt
	}
}

func (k *Keyspace) persist(args []string) any {
	e := k.find(args[1])
	if e == nil || e.expireAt == 0 {
		return int64(0)
	}
	e.expireAt = 0
	k.touched = true
	return int64(1)
}
