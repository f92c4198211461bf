package redis

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// stream is the value of a stream key.
type stream struct {
	entries []streamEntry // by ID
	last    streamID      // of the newest entry ever
	node    int           // of the newest entry
	inNode  int           // how many entries that node has had
	groups  map[string]*group
}

type streamEntry struct {
	id     streamID
	fields []string // names and contents, alternating
	node   int      // the part of the server's memory that it is in
}

// nodeSize is how many entries the server puts into one node. It also ends
// a node at 4096 bytes, which the model does not.
const nodeSize = 100

type streamID struct{ ms, seq uint64 }

var maxID = streamID{math.MaxUint64, math.MaxUint64}

func (*stream) kind() string { return "stream" }

func (s *stream) clone() value {
	c := *s
	c.entries, c.groups = slices.Clone(s.entries), make(map[string]*group, len(s.groups))
	for name, g := range s.groups {
		c.groups[name] = &group{last: g.last, pending: slices.Clone(g.pending), consumers: maps.Clone(g.consumers)}
	}
	return &c
}

func newStream() *stream { return &stream{groups: map[string]*group{}} }

func (s *stream) size() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

func (a streamID) compare(b streamID) int {
	return cmp.Or(cmp.Compare(a.ms, b.ms), cmp.Compare(a.seq, b.seq))
}

func (a streamID) String() string {
	return strconv.FormatUint(a.ms, 10) + "-" + strconv.FormatUint(a.seq, 10)
}

// next is the ID right behind, which the last ID does not have.
func (a streamID) next() (streamID, bool) {
	if a.seq < math.MaxUint64 {
		return streamID{a.ms, a.seq + 1}, true
	}
	return streamID{a.ms + 1, 0}, a.ms < math.MaxUint64
}

// previous is the ID right before, which the first ID does not have.
func (a streamID) previous() (streamID, bool) {
	if a.seq > 0 {
		return streamID{a.ms, a.seq - 1}, true
	}
	return streamID{a.ms - 1, math.MaxUint64}, a.ms > 0
}

const invalidID Error = "ERR Invalid stream ID specified as stream command argument"

// parseID reads ms-seq, or ms alone with seq as given.
func parseID(arg string, seq uint64) (id streamID, bad any) {
	ms, rest, both := strings.Cut(arg, "-")
	var err, errSeq error
	id.seq = seq
	id.ms, err = strconv.ParseUint(ms, 10, 64)
	if both {
		id.seq, errSeq = strconv.ParseUint(rest, 10, 64)
	}
	if err != nil || errSeq != nil {
		return id, invalidID
	}
	return id, nil
}

func parseIDs(args []string) ([]streamID, any) {
	ids := make([]streamID, len(args))
	for i, arg := range args {
		var bad any
		if ids[i], bad = parseID(arg, 0); bad != nil {
			return nil, bad
		}
	}
	return ids, nil
}

// parseRange reads the two ends of a range: - and +, IDs, and IDs after a
// parenthesis, which are left out.
func parseRange(low, high string) (from, to streamID, bad any) {
	if from, bad = parseEnd(low, 0); bad != nil {
		return from, to, bad
	}
	if strings.HasPrefix(low, "(") {
		var fits bool
		if from, fits = from.next(); !fits {
			return from, to, Error("ERR invalid start ID for the interval")
		}
	}
	if to, bad = parseEnd(high, math.MaxUint64); bad != nil {
		return from, to, bad
	}
	if strings.HasPrefix(high, "(") {
		var fits bool
		if to, fits = to.previous(); !fits {
			return from, to, Error("ERR invalid end ID for the interval")
		}
	}
	return from, to, nil
}

func parseEnd(arg string, seq uint64) (streamID, any) {
	switch arg {
	case "-":
		return streamID{}, nil
	case "+":
		return maxID, nil
	}
	if len(arg) > 1 {
		arg = strings.TrimPrefix(arg, "(")
	}
	return parseID(arg, seq)
}

// find answers where the entry is, or would be.
func (s *stream) find(id streamID) (int, bool) {
	return slices.BinarySearchFunc(s.entries, id, func(e streamEntry, id streamID) int { return e.id.compare(id) })
}

// within answers the entries from one ID to another, both included, limit
// at most; 0 means all.
func (s *stream) within(from, to streamID, limit int64) []streamEntry {
	first, _ := s.find(from)
	last, found := s.find(to)
	if found {
		last++
	}
	if first >= last {
		return nil
	}
	entries := s.entries[first:last]
	if limit > 0 {
		entries = entries[:min(limit, int64(len(entries)))]
	}
	return entries
}

func (e streamEntry) reply() any { return []any{e.id.String(), bulk(e.fields)} }

func entriesReply(entries []streamEntry) []any {
	reply := make([]any, len(entries))
	for i, e := range entries {
		reply[i] = e.reply()
	}
	return reply
}

func (k *Keyspace) xrange(args []string) any {
	from, to, bad := parseRange(args[2], args[3])
	if bad != nil {
		return bad
	}
	limit := int64(-1)
	for i := 4; i < len(args); i += 2 {
		if !is(args[i], "COUNT") || i+1 == len(args) {
			return syntaxError
		}
		n, isInt := integer(args[i+1])
		if !isInt {
			return notInteger
		}
		limit = max(0, n)
	}
	s, bad := lookup[*stream](k, args[1])
	switch {
	case bad != nil:
		return bad
	case s == nil:
		return []any{}
	case limit == 0:
		return nil
	}
	return entriesReply(s.within(from, to, max(0, limit)))
}

func (k *Keyspace) xdel(args []string) any {
	s, bad := lookup[*stream](k, args[1])
	if bad != nil {
		return bad
	}
	if s == nil {
		return int64(0)
	}
	ids, bad := parseIDs(args[2:])
	if bad != nil {
		return bad
	}
	removed := 0
	for _, id := range ids {
		if i, found := s.find(id); found {
			s.entries = slices.Delete(s.entries, i, i+1)
			removed++
		}
	}
	k.touched = removed > 0
	return count(removed)
}
