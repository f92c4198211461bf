package redis

// readGroupArgs are the arguments of XREADGROUP.
type readGroupArgs struct {
	group, consumer string
	count           int64 // 0: all
	noAck           bool
	block           bool
	keys, ids       []string
}

func parseReadGroup(args []string) (a readGroupArgs, bad any) {
	for i := 1; i < len(args) && a.keys == nil; i++ {
		option, more := args[i], len(args)-i-1
		switch {
		case is(option, "BLOCK") && more > 0:
			i++
			n, isInt := integer(args[i])
			if !isInt {
				return a, Error("ERR timeout is not an integer or out of range")
			}
			if n < 0 {
				return a, Error("ERR timeout is negative")
			}
			a.block = true
		case is(option, "COUNT") && more > 0:
			i++
			n, isInt := integer(args[i])
			if !isInt {
				return a, notInteger
			}
			a.count = max(0, n)
		case is(option, "STREAMS") && more > 0:
			if more%2 != 0 {
				return a, Error("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.")
			}
			a.keys, a.ids = args[i+1:i+1+more/2], args[i+1+more/2:]
		case is(option, "GROUP") && more >= 2:
			a.group, a.consumer = args[i+1], args[i+2]
			i += 2
		case is(option, "NOACK"):
			a.noAck = true
		default:
			return a, syntaxError
		}
	}
	if a.keys == nil {
		return a, syntaxError
	}
	if a.group == "" {
		return a, Error("ERR Missing GROUP option for XREADGROUP")
	}
	return a, nil
}

// xreadGroup does not wait: BLOCK is read, and a node that wants it waits
// and asks again.
func (k *Keyspace) xreadGroup(args []string) any {
	a, bad := parseReadGroup(args)
	if bad != nil {
		return bad
	}
	if a.block && k.running.script != nil {
		return Error("ERR " + args[0] + " command is not allowed with BLOCK option from scripts")
	}
	from := make([]streamID, len(a.ids))
	for i, key := range a.keys {
		_, g, bad := k.group(key, a.group)
		switch {
		case bad != nil:
			return bad
		case g == nil:
			return noGroup(key, a.group, " in XREADGROUP with GROUP option")
		case a.ids[i] == "$":
			return Error("ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of " +
				"this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would " +
				"just return an empty result set.")
		case a.ids[i] == ">":
			continue
		}
		if from[i], bad = parseID(a.ids[i], 0); bad != nil {
			return bad
		}
	}
	var reply []any
	for i, key := range a.keys {
		if entries, found := k.readFor(a, key, a.ids[i] == ">", from[i]); found {
			reply = append(reply, []any{key, entries})
		}
	}
	if reply == nil {
		return nil
	}
	return reply
}

// readFor reads one stream for a consumer: what is new, or what the consumer
// has pending after an ID.
func (k *Keyspace) readFor(a readGroupArgs, key string, fresh bool, after streamID) ([]any, bool) {
	s, g, _ := k.group(key, a.group)
	if fresh && (len(s.entries) == 0 || s.entries[len(s.entries)-1].id.compare(g.last) <= 0) {
		return nil, false
	}
	if !g.consumers[a.consumer] {
		g.consumers[a.consumer] = true
		if a.noAck {
			k.propagate("XGROUP", "CREATECONSUMER", key, a.group, a.consumer)
		}
	}
	if !fresh {
		return k.history(s, g, a, after), true
	}
	first, _ := g.last.next()
	entries := s.within(first, maxID, a.count)
	for _, e := range entries {
		g.last = e.id
		if !a.noAck {
			p := pending{id: e.id, consumer: a.consumer, deliveredAt: k.ms, deliveries: 1}
			g.deliver(p)
			k.propagateClaim(key, a.group, g, p)
		}
	}
	if a.noAck {
		k.propagateLast(key, a.group, g)
	}
	return entriesReply(entries), true
}

// history answers a consumer's pending entries after an ID. Reading them
// counts as a delivery, of which the replicas are not told, as on the
// server.
func (k *Keyspace) history(s *stream, g *group, a readGroupArgs, after streamID) []any {
	reply := []any{}
	for i := range g.pending {
		p := &g.pending[i]
		if p.consumer != a.consumer || p.id.compare(after) <= 0 {
			continue
		}
		if at, found := s.find(p.id); found {
			reply = append(reply, s.entries[at].reply())
			p.deliveredAt = k.ms
			p.deliveries++
		} else {
			reply = append(reply, []any{p.id.String(), nil})
		}
		if a.count > 0 && int64(len(reply)) == a.count {
			break
		}
	}
	return reply
}
