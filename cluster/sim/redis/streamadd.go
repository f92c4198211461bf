package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// xaddArgs are the arguments of XADD before the fields.
type xaddArgs struct {
	noMake  bool
	trim    string // MAXLEN, MINID or empty
	approx  bool   // trim by whole nodes of the server's memory
	maxLen  int64
	minID   streamID
	limit   int64
	limited bool

	id      streamID
	auto    bool // the ID is *
	autoSeq bool // the ID is ms-*
	idAt    int  // where the ID is among the arguments
}

func parseXadd(args []string) (a xaddArgs, bad any) {
	for i := 2; i < len(args); i++ {
		option, more := args[i], len(args)-1-i
		switch {
		case option == "*":
			a.auto, a.idAt = true, i
			return a, a.checkLimit()
		case is(option, "MAXLEN") && more > 0, is(option, "MINID") && more > 0:
			if i, bad = a.parseTrim(args, i); bad != nil {
				return a, bad
			}
		case is(option, "LIMIT") && more > 0:
			i++
			var isInt bool
			if a.limit, isInt = integer(args[i]); !isInt {
				return a, notInteger
			}
			if a.limit < 0 {
				return a, Error("ERR The LIMIT argument must be >= 0.")
			}
			a.limited = true
		case is(option, "NOMKSTREAM"):
			a.noMake = true
		default:
			a.idAt = i
			if bad = a.parseID(option); bad != nil {
				return a, bad
			}
			return a, a.checkLimit()
		}
	}
	return a, a.checkLimit()
}

// parseTrim reads MAXLEN or MINID and answers the index of its last word.
func (a *xaddArgs) parseTrim(args []string, i int) (int, any) {
	if a.trim != "" {
		return i, Error("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
	}
	a.trim = strings.ToUpper(args[i])
	if more := len(args) - 1 - i; more >= 2 && (args[i+1] == "~" || args[i+1] == "=") {
		i++
		a.approx = args[i] == "~"
	}
	i++
	if a.trim == "MINID" {
		id, bad := parseID(args[i], 0)
		a.minID = id
		return i, bad
	}
	n, isInt := integer(args[i])
	if !isInt {
		return i, notInteger
	}
	if n < 0 {
		return i, Error("ERR The MAXLEN argument must be >= 0.")
	}
	a.maxLen = n
	return i, nil
}

func (a *xaddArgs) parseID(arg string) (bad any) {
	if ms, found := strings.CutSuffix(arg, "-*"); found {
		a.autoSeq = true
		arg = ms + "-0"
	}
	a.id, bad = parseID(arg, 0)
	return bad
}

func (a *xaddArgs) checkLimit() any {
	switch {
	case a.limit > 0 && a.trim == "":
		return Error("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
	case a.limited && !a.approx:
		return Error("ERR syntax error, LIMIT cannot be used without the special ~ option")
	}
	return nil
}

func (k *Keyspace) xadd(args []string) any {
	a, bad := parseXadd(args)
	if bad != nil {
		return bad
	}
	fields := args[min(a.idAt+1, len(args)):]
	if a.idAt == 0 || len(fields) < 2 || len(fields)%2 != 0 {
		return wrongArity("xadd")
	}
	if !a.auto && !a.autoSeq && a.id == (streamID{}) {
		return Error("ERR The ID specified in XADD must be greater than 0-0")
	}
	if a.noMake && k.find(args[1]) == nil {
		return nil
	}
	s, bad := obtain(k, args[1], newStream)
	if bad != nil {
		return bad
	}
	if s.last == maxID {
		return Error("ERR The stream has exhausted the last possible ID, unable to add more items")
	}
	id, fits := a.newID(s.last, uint64(k.ms))
	if !fits {
		return Error("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	}
	s.add(id, slices.Clone(fields))
	if a.trim != "" {
		s.trim(a)
	}
	k.propagate(a.effect(args, id, s)...)
	return id.String()
}

// newID answers the ID of a new entry, if it is above the last one.
func (a *xaddArgs) newID(last streamID, now uint64) (streamID, bool) {
	id := a.id
	switch {
	case a.auto && now > last.ms:
		id = streamID{now, 0}
	case a.auto:
		id, _ = last.next()
	case a.autoSeq && id.ms == last.ms && last.seq == math.MaxUint64:
		return id, false
	case a.autoSeq && id.ms == last.ms:
		id.seq = last.seq + 1
	}
	return id, id.compare(last) > 0
}

// add appends an entry, in a new node if the last one is full or gone.
func (s *stream) add(id streamID, fields []string) {
	n := len(s.entries)
	if s.inNode == nodeSize || n == 0 || s.entries[n-1].node != s.node {
		s.node++
		s.inNode = 0
	}
	s.inNode++
	s.entries = append(s.entries, streamEntry{id: id, fields: fields, node: s.node})
	s.last = id
}

// trim removes the oldest entries; approximately means whole nodes only.
func (s *stream) trim(a xaddArgs) {
	excess := max(0, len(s.entries)-int(a.maxLen))
	if a.trim == "MINID" {
		excess, _ = s.find(a.minID)
	}
	if a.approx {
		limit := 100 * nodeSize
		if a.limited {
			limit = int(a.limit)
		}
		if limit > 0 {
			excess = min(excess, limit)
		}
		for 0 < excess && excess < len(s.entries) && s.entries[excess-1].node == s.entries[excess].node {
			excess--
		}
	}
	s.entries = slices.Delete(s.entries, 0, excess)
}

// effect is the command with the ID that was made and with what trimming
// really did, so that replicas do the same.
func (a *xaddArgs) effect(args []string, id streamID, s *stream) []string {
	effect := []string{"XADD", args[1]}
	if a.trim != "" {
		bound := strconv.FormatInt(a.maxLen, 10)
		switch {
		case a.trim == "MINID" && a.approx && len(s.entries) == 0:
			bound = maxID.String()
		case a.trim == "MINID" && a.approx:
			bound = s.entries[0].id.String()
		case a.trim == "MINID":
			bound = a.minID.String()
		case a.approx:
			bound = strconv.Itoa(len(s.entries))
		}
		effect = append(effect, a.trim, "=", bound)
	}
	effect = append(effect, id.String())
	return append(effect, args[a.idAt+1:]...)
}
