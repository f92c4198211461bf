// Package resp is the wire protocol of Redis as a server speaks it: bytes in,
// commands out, replies encoded, RESP2 and RESP3.
//
// It owns no connection and no clock. Whoever has the bytes of a client, from a
// TCP connection, from an in-memory pipe or from a simulated network, feeds
// them to a Session; the Session asks a Backend to execute each command and
// hands on what is to be sent. Commands that concern the connection rather than
// keys (HELLO, CLIENT, MULTI, SUBSCRIBE and their like) the Session answers by
// itself.
//
// Start with NewSession. Parser and Append are the two halves of the protocol
// alone.
package resp

import (
	"math"
	"strconv"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// Replies. Besides these a reply is nil (null), int64, int, bool, float64,
// string (a bulk string), redis.Error or []any of replies.
type (
	// Status is a simple string: "OK".
	Status string
	// Map is a list of keys and values, in turn. In RESP2 it is an array.
	Map []any
	// Set is a list of different things. In RESP2 it is an array.
	Set []any
	// Push is what comes unasked. In RESP2 it is an array.
	Push []any
	// NullArray is a null where an array was to be expected: an EXEC that did
	// not happen.
	NullArray struct{}
)

// Append writes a reply as clients of a version of the protocol, 2 or 3, read it.
func Append(to []byte, version int, reply any) []byte {
	three := version >= 3
	switch r := reply.(type) {
	case nil:
		if three {
			return append(to, "_\r\n"...)
		}
		return append(to, "$-1\r\n"...)
	case NullArray:
		if three {
			return append(to, "_\r\n"...)
		}
		return append(to, "*-1\r\n"...)
	case Status:
		return line(to, '+', string(r))
	case redis.Error:
		return line(to, '-', string(r))
	case int64:
		return line(to, ':', strconv.FormatInt(r, 10))
	case int:
		return line(to, ':', strconv.Itoa(r))
	case bool:
		return truth(to, three, r)
	case float64:
		if three {
			return line(to, ',', double(r))
		}
		return bulk(to, double(r))
	case string:
		return bulk(to, r)
	case []any:
		return list(to, version, '*', '*', 1, r)
	case Map:
		return list(to, version, '%', '*', 2, r)
	case Set:
		return list(to, version, '~', '*', 1, r)
	case Push:
		return list(to, version, '>', '*', 1, r)
	}
	return line(to, '-', "ERR a reply of an unknown kind")
}

// line writes a simple line. What could end it early becomes a blank.
func line(to []byte, kind byte, text string) []byte {
	to = append(to, kind)
	for i := range len(text) {
		if c := text[i]; c == '\r' || c == '\n' {
			to = append(to, ' ')
		} else {
			to = append(to, c)
		}
	}
	return append(to, "\r\n"...)
}

func bulk(to []byte, text string) []byte {
	to = append(to, '$')
	to = strconv.AppendInt(to, int64(len(text)), 10)
	to = append(to, "\r\n"...)
	to = append(to, text...)
	return append(to, "\r\n"...)
}

func truth(to []byte, three, b bool) []byte {
	switch {
	case three && b:
		return append(to, "#t\r\n"...)
	case three:
		return append(to, "#f\r\n"...)
	case b:
		return append(to, ":1\r\n"...)
	}
	return append(to, ":0\r\n"...)
}

func double(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// list writes a collection: each of its items counts one, of a map two make one.
func list(to []byte, version int, three, two byte, each int, items []any) []byte {
	kind, n := two, len(items)
	if version >= 3 {
		kind, n = three, len(items)/each
	}
	to = line(to, kind, strconv.Itoa(n))
	for _, item := range items {
		to = Append(to, version, item)
	}
	return to
}
