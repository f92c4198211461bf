package redis

import "strings"

// Error replies, as Redis 7.0 words them.
const (
	wrongType    Error = "WRONGTYPE Operation against a key holding the wrong kind of value"
	syntaxError  Error = "ERR syntax error"
	notInteger   Error = "ERR value is not an integer or out of range"
	notFloat     Error = "ERR value is not a valid float"
	overflow     Error = "ERR increment or decrement would overflow"
	readOnly     Error = "READONLY You can't write against a read only replica."
	stillLoading Error = "LOADING Redis is loading the dataset in memory"
)

func wrongArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

func invalidExpire(name string) Error {
	return Error("ERR invalid expire time in '" + name + "' command")
}

// unknownCommand quotes the arguments until 128 bytes are full.
func unknownCommand(args []string) Error {
	const room = 128
	var quoted strings.Builder
	for _, arg := range args[1:] {
		left := room - quoted.Len()
		if left <= 0 {
			break
		}
		quoted.WriteString("'" + arg[:min(len(arg), left)] + "' ")
	}
	name := args[0][:min(len(args[0]), room)]
	return Error("ERR unknown command '" + name + "', with args beginning with: " + quoted.String())
}

// count answers a number of things.
func count(n int) any { return int64(n) }

// yes answers 1 or 0.
func yes(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

// bulk answers each string of a list.
func bulk(items []string) []any {
	reply := make([]any, len(items))
	for i, item := range items {
		reply[i] = item
	}
	return reply
}
