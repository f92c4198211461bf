package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pair is the model and a real server, which are told the same.
type pair struct {
	t     testing.TB
	model *Keyspace
	mode  Mode
	real  *RealConn
}

func newPair(t testing.TB) *pair {
	server := StartRealServer(t)
	return &pair{t: t, model: New(), real: server.RealConn}
}

// both tells both the same command at the same time and compares.
func (p *pair) both(args ...string) (reply any) {
	p.t.Helper()
	real := p.real.Do(args...)
	model := p.model.Do(time.Now(), p.mode, args).Reply
	if diff := p.real.version.difference(args, real, model); diff != "" {
		p.t.Errorf("%s\n(-real +model)\n%s", quote(args), diff)
	}
	return real
}

func quote(args []string) string {
	return strings.ReplaceAll(fmt.Sprintf("%q", args), "\n", " ")
}

// difference compares two replies to the same command as strictly as the
// command and the version of the server allow.
func (v version) difference(args []string, real, model any) string {
	switch strings.ToUpper(args[0]) {
	case "TTL", "PTTL", "TIME":
		real, model = roughly(real), roughly(model)
	case "KEYS", "SMEMBERS":
		real, model = sorted(real), sorted(model)
	case "SCAN":
		if items, isArray := real.([]any); isArray {
			real, model = sorted(items[1]), sorted(model.([]any)[1])
		}
	case "HGETALL":
		real, model = sortedPairs(real), sortedPairs(model)
	}
	return cmp.Diff(real, model, sameMoment, v.alike())
}

// sameMoment: the clocks of model and server are a few milliseconds apart,
// so are ends that are relative to now. Tests of the expiry itself compare
// them exactly.
var sameMoment = cmp.Comparer(func(a, b int64) bool {
	const since2001 = 1e12
	return a == b || a > since2001 && b > since2001 && max(a, b)-min(a, b) < 10_000
})

// roughly replaces moments and periods by how many there are.
func roughly(reply any) any {
	switch r := reply.(type) {
	case int64:
		return min(r, 0)
	case []any:
		return len(r)
	}
	return reply
}

func sorted(reply any) any {
	items, isArray := reply.([]any)
	if !isArray {
		return reply
	}
	items = slices.Clone(items)
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return items
}

func sortedPairs(reply any) any {
	items, isArray := reply.([]any)
	if !isArray {
		return reply
	}
	pairs := []any{}
	for pair := range slices.Chunk(items, 2) {
		pairs = append(pairs, pair)
	}
	return sorted(pairs)
}

// split reads a command as people type it: words, and words in single
// quotes.
func split(line string) []string {
	var args []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		end := strings.IndexByte(line, ' ')
		if line[0] == '\'' {
			end = strings.IndexByte(line[1:], '\'') + 1
			args = append(args, line[1:end])
			line = line[end+1:]
			continue
		}
		if end < 0 {
			end = len(line)
		}
		args = append(args, line[:end])
		line = line[end:]
	}
	return args
}

// dataset is everything in a keyspace, read through commands: by key its
// type, its end and its content.
func dataset(do func(args ...string) any) map[string]any {
	all := map[string]any{}
	for _, name := range do("KEYS", "*").([]any) {
		key := name.(string)
		kind := do("TYPE", key)
		all[key] = []any{kind, do("PEXPIRETIME", key), content(do, key, kind.(string))}
	}
	return all
}

func content(do func(args ...string) any, key, kind string) any {
	switch kind {
	case "string":
		return do("GET", key)
	case "hash":
		return sortedPairs(do("HGETALL", key))
	case "list":
		return do("LRANGE", key, "0", "-1")
	case "set":
		return sorted(do("SMEMBERS", key))
	case "zset":
		return do("ZRANGE", key, "0", "-1", "WITHSCORES")
	}
	return nil
}

func (p *pair) compareDatasets() {
	p.t.Helper()
	model := func(args ...string) any { return p.model.Do(time.Now(), p.mode, args).Reply }
	if diff := cmp.Diff(dataset(p.real.Do), dataset(model), sameMoment, p.real.version.alike()); diff != "" {
		p.t.Errorf("datasets differ (-real +model)\n%s", diff)
	}
}
