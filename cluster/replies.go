package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// reading are the commands that change nothing.
var reading = []string{"GET", "HGET", "EXISTS", "HEXISTS", "TTL", "PTTL", "TIME", "LRANGE", "CLUSTER", "PING"}

// Tells reports whether a reply to a command tells its worker that an operation
// f has acted: a fault that loses replies to f waits for one of these. A 0 means
// that nothing was done, but for a release, where it may be a count.
func Tells(f, command string, reply any) bool {
	if reply == nil || slices.Contains(reading, strings.ToUpper(command)) {
		return false
	}
	return f == histories.Release || reply != int64(0)
}

// LostReply is the proof that a reply got lost.
func LostReply(worker int, f string, reply any) string {
	text := fmt.Sprint(reply)
	return fmt.Sprintf("%s never got the reply %q to its %s", histories.WorkerName(worker), text[:min(len(text), 20)], f)
}
