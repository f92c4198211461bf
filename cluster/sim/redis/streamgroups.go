package redis

import (
	"slices"
	"strconv"
)

// group is a consumer group of a stream.
type group struct {
	last      streamID  // of the newest entry delivered
	pending   []pending // delivered and not acknowledged, by ID
	consumers map[string]bool
}

// pending is one entry that a consumer has not acknowledged yet.
type pending struct {
	id          streamID
	consumer    string
	deliveredAt int64 // milliseconds since 1970
	deliveries  int64
}

func (g *group) find(id streamID) (int, bool) {
	return slices.BinarySearchFunc(g.pending, id, func(p pending, id streamID) int { return p.id.compare(id) })
}

// deliver makes an entry pending for a consumer, whoever had it before.
func (g *group) deliver(p pending) {
	i, found := g.find(p.id)
	if found {
		g.pending[i] = p
		return
	}
	g.pending = slices.Insert(g.pending, i, p)
}

// group answers a group of the stream at key, or nil.
func (k *Keyspace) group(key, name string) (*stream, *group, any) {
	s, bad := lookup[*stream](k, key)
	if bad != nil || s == nil {
		return nil, nil, bad
	}
	return s, s.groups[name], nil
}

func noGroup(key, name, rest string) Error {
	return Error("NOGROUP No such key '" + key + "' or consumer group '" + name + "'" + rest)
}

// xgroup answers what all subcommands of XGROUP need: the stream and the
// group. Where the group must be there, it is not nil.
func (k *Keyspace) xgroup(args []string, must bool) (*stream, *group, any) {
	s, g, bad := k.group(args[2], args[3])
	switch {
	case bad != nil:
		return nil, nil, bad
	case s == nil:
		return nil, nil, Error("ERR The XGROUP subcommand requires the key to exist. " +
			"Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.")
	case g == nil && must:
		return nil, nil, Error("NOGROUP No such consumer group '" + args[3] + "' for key name '" + args[2] + "'")
	}
	return s, g, nil
}

func (k *Keyspace) xgroupCreate(args []string) any {
	makeStream, bad := xgroupOptions(args[5:], "CREATE", true)
	if bad != nil {
		return bad
	}
	s, bad := lookup[*stream](k, args[2])
	if bad != nil {
		return bad
	}
	if s == nil && !makeStream {
		_, _, bad = k.xgroup(args, false)
		return bad
	}
	last := streamID{}
	if args[4] != "$" {
		if last, bad = parseID(args[4], 0); bad != nil {
			return bad
		}
	} else if s != nil {
		last = s.last
	}
	s, _ = obtain(k, args[2], newStream)
	if s.groups[args[3]] != nil {
		return Error("BUSYGROUP Consumer Group name already exists")
	}
	s.groups[args[3]] = &group{last: last, consumers: map[string]bool{}}
	k.touched = true
	return ok
}

// xgroupOptions reads the options of XGROUP CREATE and SETID. ENTRIESREAD is
// read and not kept: only XINFO shows it.
func xgroupOptions(options []string, name string, create bool) (makeStream bool, bad any) {
	for i := 0; i < len(options); i++ {
		switch {
		case create && is(options[i], "MKSTREAM"):
			makeStream = true
		case is(options[i], "ENTRIESREAD") && i+1 < len(options):
			i++
			n, isInt := integer(options[i])
			if !isInt {
				return false, notInteger
			}
			if n < -1 {
				return false, Error("ERR value for ENTRIESREAD must be positive or -1")
			}
		default:
			return false, Error("ERR unknown subcommand or wrong number of arguments for '" + name + "'. Try XGROUP HELP.")
		}
	}
	return makeStream, nil
}

func (k *Keyspace) xgroupSetID(args []string) any {
	if _, bad := xgroupOptions(args[5:], "SETID", false); bad != nil {
		return bad
	}
	s, g, bad := k.xgroup(args, true)
	if bad != nil {
		return bad
	}
	last := s.last
	if args[4] != "$" {
		if last, bad = parseEnd(args[4], 0); bad != nil {
			return bad
		}
	}
	g.last = last
	k.touched = true
	return ok
}

func (k *Keyspace) xgroupDestroy(args []string) any {
	s, g, bad := k.xgroup(args, false)
	if bad != nil {
		return bad
	}
	if g != nil {
		delete(s.groups, args[3])
		k.touched = true
	}
	return yes(g != nil)
}

func (k *Keyspace) xgroupCreateConsumer(args []string) any {
	_, g, bad := k.xgroup(args, true)
	if bad != nil {
		return bad
	}
	fresh := !g.consumers[args[4]]
	g.consumers[args[4]] = true
	k.touched = fresh
	return yes(fresh)
}

func (k *Keyspace) xgroupDelConsumer(args []string) any {
	_, g, bad := k.xgroup(args, true)
	if bad != nil {
		return bad
	}
	k.touched = g.consumers[args[4]]
	delete(g.consumers, args[4])
	before := len(g.pending)
	g.pending = slices.DeleteFunc(g.pending, func(p pending) bool { return p.consumer == args[4] })
	return count(before - len(g.pending))
}

func (k *Keyspace) xack(args []string) any {
	_, g, bad := k.group(args[1], args[2])
	if bad != nil {
		return bad
	}
	if g == nil {
		return int64(0)
	}
	ids, bad := parseIDs(args[3:])
	if bad != nil {
		return bad
	}
	acknowledged := 0
	for _, id := range ids {
		if i, found := g.find(id); found {
			g.pending = slices.Delete(g.pending, i, i+1)
			acknowledged++
		}
	}
	k.touched = acknowledged > 0
	return count(acknowledged)
}

// propagateClaim tells the replicas who has an entry, as an XCLAIM that may
// be applied any number of times.
func (k *Keyspace) propagateClaim(key, name string, g *group, p pending) {
	k.propagate("XCLAIM", key, name, p.consumer, "0", p.id.String(),
		"TIME", strconv.FormatInt(p.deliveredAt, 10),
		"RETRYCOUNT", strconv.FormatInt(p.deliveries, 10),
		"FORCE", "JUSTID", "LASTID", g.last.String())
}

// propagateLast tells the replicas how far a group has read.
func (k *Keyspace) propagateLast(key, name string, g *group) {
	k.propagate("XGROUP", "SETID", key, name, g.last.String(), "ENTRIESREAD", "-1")
}
