package redis

import (
	"slices"
	"strconv"
)

// xclaimArgs are the arguments of XCLAIM.
type xclaimArgs struct {
	minIdle       int64
	ids           []streamID
	deliveredAt   int64 // -1: now
	deliveries    int64 // -1: one more
	force, justID bool
	last          streamID
}

func (k *Keyspace) parseXclaim(args []string) (a xclaimArgs, bad any) {
	a.deliveredAt, a.deliveries = -1, -1
	var isInt bool
	if a.minIdle, isInt = integer(args[4]); !isInt {
		return a, Error("ERR Invalid min-idle-time argument for XCLAIM")
	}
	a.minIdle = max(0, a.minIdle)
	i := 5
	for ; i < len(args); i++ {
		id, bad := parseID(args[i], 0)
		if bad != nil {
			break
		}
		a.ids = append(a.ids, id)
	}
	return a, k.parseXclaimOptions(&a, args[i:])
}

func (k *Keyspace) parseXclaimOptions(a *xclaimArgs, options []string) (bad any) {
	for i := 0; i < len(options); i++ {
		option := options[i]
		number := int64(0)
		if is(option, "IDLE") || is(option, "TIME") || is(option, "RETRYCOUNT") || is(option, "LASTID") {
			if i++; i == len(options) {
				return Error("ERR Unrecognized XCLAIM option '" + option + "'")
			}
			var isInt bool
			if number, isInt = integer(options[i]); !isInt && !is(option, "LASTID") {
				return Error("ERR Invalid " + option + " option argument for XCLAIM")
			}
		}
		switch {
		case is(option, "FORCE"):
			a.force = true
		case is(option, "JUSTID"):
			a.justID = true
		case is(option, "IDLE"):
			a.deliveredAt = k.ms - number
		case is(option, "TIME"):
			a.deliveredAt = number
		case is(option, "RETRYCOUNT"):
			a.deliveries = number
		case is(option, "LASTID"):
			if a.last, bad = parseID(options[i], 0); bad != nil {
				return bad
			}
		default:
			return Error("ERR Unrecognized XCLAIM option '" + option + "'")
		}
	}
	if a.deliveredAt < 0 || a.deliveredAt > k.ms {
		a.deliveredAt = k.ms
	}
	return nil
}

func (k *Keyspace) xclaim(args []string) any {
	s, g, bad := k.group(args[1], args[2])
	if bad != nil {
		return bad
	}
	if g == nil {
		return noGroup(args[1], args[2], "")
	}
	a, bad := k.parseXclaim(args)
	if bad != nil {
		return bad
	}
	moved := a.last.compare(g.last) > 0
	if moved {
		g.last = a.last
	}
	reply := []any{}
	for _, id := range a.ids {
		if claimed := k.claim(s, g, args, a, id); claimed != nil {
			reply = append(reply, claimed)
		}
	}
	if moved && !k.rewritten {
		k.propagateLast(args[1], args[2], g)
	}
	return reply
}

// claim gives one entry to the consumer and answers it, or nil if it may
// not have it.
func (k *Keyspace) claim(s *stream, g *group, args []string, a xclaimArgs, id streamID) any {
	at, pends := g.find(id)
	entryAt, exists := s.find(id)
	if !exists {
		if pends {
			k.propagateClaim(args[1], args[2], g, g.pending[at])
			g.pending = slices.Delete(g.pending, at, at+1)
		}
		return nil
	}
	p := pending{id: id, deliveries: 1}
	switch {
	case pends:
		p = g.pending[at]
		if a.minIdle > 0 && k.ms-p.deliveredAt < a.minIdle {
			return nil
		}
	case !a.force:
		return nil
	}
	g.consumers[args[3]] = true
	p.consumer, p.deliveredAt = args[3], a.deliveredAt
	if a.deliveries >= 0 {
		p.deliveries = a.deliveries
	} else if !a.justID {
		p.deliveries++
	}
	g.deliver(p)
	k.propagateClaim(args[1], args[2], g, p)
	if a.justID {
		return id.String()
	}
	return s.entries[entryAt].reply()
}

// xautoclaimArgs are the arguments of XAUTOCLAIM.
type xautoclaimArgs struct {
	minIdle int64
	from    streamID
	count   int64
	justID  bool
}

func parseXautoclaim(args []string) (a xautoclaimArgs, bad any) {
	a.count = 100
	var isInt bool
	if a.minIdle, isInt = integer(args[4]); !isInt {
		return a, Error("ERR Invalid min-idle-time argument for XAUTOCLAIM")
	}
	a.minIdle = max(0, a.minIdle)
	if a.from, _, bad = parseRange(args[5], "+"); bad != nil {
		return a, bad
	}
	for i := 6; i < len(args); i++ {
		switch {
		case is(args[i], "COUNT") && i+1 < len(args):
			i++
			if a.count, isInt = integer(args[i]); !isInt || a.count < 1 || a.count > 1<<59 {
				return a, Error("ERR COUNT must be > 0")
			}
		case is(args[i], "JUSTID"):
			a.justID = true
		default:
			return a, syntaxError
		}
	}
	return a, nil
}

// xautoclaim looks at ten times as many entries as it may answer, at most.
func (k *Keyspace) xautoclaim(args []string) any {
	a, bad := parseXautoclaim(args)
	if bad != nil {
		return bad
	}
	s, g, bad := k.group(args[1], args[2])
	if bad != nil {
		return bad
	}
	if g == nil {
		return noGroup(args[1], args[2], "")
	}
	claim := xclaimArgs{minIdle: a.minIdle, deliveredAt: k.ms, deliveries: -1, justID: a.justID}
	claimed, deleted := []any{}, []any{}
	at, _ := g.find(a.from)
	for attempts := 10 * a.count; attempts > 0 && a.count > 0 && at < len(g.pending); attempts-- {
		id := g.pending[at].id
		entry := k.claim(s, g, args, claim, id)
		switch _, exists := s.find(id); {
		case !exists:
			deleted = append(deleted, id.String())
			a.count--
			continue
		case entry != nil:
			claimed = append(claimed, entry)
			a.count--
		}
		at++
	}
	next := streamID{}
	if at < len(g.pending) {
		next = g.pending[at].id
	}
	return []any{next.String(), claimed, deleted}
}

// xpendingArgs are the arguments of XPENDING with a range.
type xpendingArgs struct {
	minIdle  int64
	from, to streamID
	count    int64
	consumer string
	anyone   bool
}

func parseXpending(args []string) (a xpendingArgs, bad any) {
	rest := args[3:]
	var isInt bool
	if is(rest[0], "IDLE") {
		if a.minIdle, isInt = integer(rest[1]); !isInt {
			return a, notInteger
		}
		if rest = rest[2:]; len(rest) < 3 {
			return a, syntaxError
		}
	}
	if a.count, isInt = integer(rest[2]); !isInt {
		return a, notInteger
	}
	if a.from, a.to, bad = parseRange(rest[0], rest[1]); bad != nil {
		return a, bad
	}
	a.anyone = len(rest) == 3
	if !a.anyone {
		a.consumer = rest[3]
	}
	return a, nil
}

func (k *Keyspace) xpending(args []string) any {
	if len(args) != 3 && (len(args) < 6 || len(args) > 9) {
		return syntaxError
	}
	var a xpendingArgs
	var bad any
	if len(args) > 3 {
		if a, bad = parseXpending(args); bad != nil {
			return bad
		}
	}
	_, g, bad := k.group(args[1], args[2])
	switch {
	case bad != nil:
		return bad
	case g == nil:
		return noGroup(args[1], args[2], "")
	case len(args) == 3:
		return g.summary()
	}
	reply := []any{}
	for _, p := range g.pending {
		idle := k.ms - p.deliveredAt
		if int64(len(reply)) >= a.count {
			break
		}
		if p.id.compare(a.from) < 0 || p.id.compare(a.to) > 0 || !a.anyone && p.consumer != a.consumer || idle < a.minIdle {
			continue
		}
		reply = append(reply, []any{p.id.String(), p.consumer, max(0, idle), p.deliveries})
	}
	return reply
}

// summary is the reply of XPENDING without a range.
func (g *group) summary() any {
	if len(g.pending) == 0 {
		return []any{int64(0), nil, nil, nil}
	}
	each := map[string]int{}
	for _, p := range g.pending {
		each[p.consumer]++
	}
	names := make([]string, 0, len(each))
	for name := range each {
		names = append(names, name)
	}
	slices.Sort(names)
	consumers := []any{}
	for _, name := range names {
		consumers = append(consumers, []any{name, strconv.Itoa(each[name])})
	}
	first, last := g.pending[0].id, g.pending[len(g.pending)-1].id
	return []any{count(len(g.pending)), first.String(), last.String(), consumers}
}
