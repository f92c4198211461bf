package redis

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// generator makes random commands over a few keys, which any type may hold,
// so that wrong types come up all the time.
type generator struct{ *rand.Rand }

func (g generator) of(choices ...string) string { return choices[g.IntN(len(choices))] }
func (g generator) key() string                 { return g.of("a", "b", "c", "d", "e", "f") }
func (g generator) item() string                { return g.of("x", "y", "z", "1", "2", "10", "") }
func (g generator) index() string               { return strconv.Itoa(g.IntN(9) - 4) }
func (g generator) number() string {
	return g.of("1", "-1", "5", "100", "0", "9223372036854775807", "-9223372036854775808", "1.5", "none", "07")
}
func (g generator) score() string { return g.of("1", "2", "2.5", "-3", "inf", "-inf", "0", "nan", "x") }

// end is a time that no key reaches while the test runs, or one long past.
func (g generator) end() string { return g.of("99999999999999", "88888888888888", "1", "1000") }

// period is longer than the test (seconds), or over.
func (g generator) period() string { return g.of("1000", "2000", "0", "-1") }

// items is one to three items.
func (g generator) items() []string {
	items := []string{}
	for range 1 + g.IntN(3) {
		items = append(items, g.item())
	}
	return items
}

// pairs is one to three pairs.
func (g generator) pairs(first func() string) []string {
	pairs := []string{}
	for range 1 + g.IntN(3) {
		pairs = append(pairs, first(), g.item())
	}
	return pairs
}

// some keeps each of the options with one chance in three.
func (g generator) some(options ...[]string) []string {
	var kept []string
	for _, option := range options {
		if g.IntN(3) == 0 {
			kept = append(kept, option...)
		}
	}
	return kept
}

func (g generator) command() []string {
	families := []func() []string{g.strings, g.strings, g.keyspace, g.hash, g.list, g.set, g.zset, g.script}
	return families[g.IntN(len(families))]()
}

func line(name string, args ...any) []string {
	command := []string{name}
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			command = append(command, arg)
		case []string:
			command = append(command, arg...)
		}
	}
	return command
}

func (g generator) strings() []string {
	k := g.key()
	switch g.IntN(16) {
	case 0, 1:
		return line("SET", k, g.item(), g.some([]string{g.of("NX", "XX")}, []string{"GET"}, []string{"PXAT", g.end()}, []string{"KEEPTTL"}))
	case 2:
		return line("SET", k, g.number(), g.some([]string{"EX", g.period()}))
	case 3:
		return line("GET", k)
	case 4:
		return line(g.of("INCR", "DECR", "STRLEN", "GETDEL"), k)
	case 5:
		return line(g.of("INCRBY", "DECRBY"), k, g.number())
	case 6:
		return line(g.of("GETSET", "SETNX", "APPEND"), k, g.item())
	case 7:
		return line("GETEX", k, g.some([]string{"PERSIST"}, []string{"PXAT", g.end()}, []string{"EX", g.period()}))
	case 8:
		return line("MSET", k, g.item(), g.key(), g.item())
	case 9:
		return line("MGET", k, g.key())
	case 10:
		return line(g.of("SETEX", "PSETEX"), k, g.of("1000000", "2000000", "0", "x"), g.item())
	case 11:
		return line("SET", k, "v", "PXAT", g.end())
	case 12:
		return line("MSETNX", k, g.item(), g.key(), g.item())
	case 13:
		return line("GETRANGE", k, g.of("0", "1", "-1", "-3", "9", "x"), g.of("0", "-1", "-2", "5", "-9"))
	}
	return line(g.of("TTL", "PTTL", "PEXPIRETIME"), k)
}

func (g generator) keyspace() []string {
	k := g.key()
	switch g.IntN(8) {
	case 0:
		return line(g.of("DEL", "UNLINK", "EXISTS"), k, g.key())
	case 1:
		return line(g.of("TYPE", "TTL", "PERSIST", "EXISTS"), k)
	case 2:
		return line(g.of("EXPIRE", "PEXPIRE"), k, g.of("1000000", "2000000", "0", "-1", "x"), g.some([]string{g.of("NX", "XX", "GT", "LT")}))
	case 3, 4:
		return line("PEXPIREAT", k, g.end(), g.some([]string{g.of("NX", "XX", "GT", "LT")}, []string{g.of("GT", "NX", "XX")}))
	case 5:
		return line(g.of("DBSIZE", "FLUSHALL", "DBSIZE"))
	case 6:
		return line("SCAN", "0", "COUNT", "1000", g.some([]string{"MATCH", g.of("*", "[a-c]", "?", "x*")}, []string{"TYPE", g.of("string", "list", "hash")}))
	}
	return line("KEYS", g.of("*", "[a-c]", "?"))
}

func (g generator) hash() []string {
	k := g.key()
	switch g.IntN(7) {
	case 0, 1:
		return line("HSET", k, g.pairs(g.item))
	case 2:
		return line(g.of("HGET", "HEXISTS"), k, g.item())
	case 3:
		return line(g.of("HDEL", "HMGET"), k, g.items())
	case 4:
		return line("HINCRBY", k, g.item(), g.number())
	case 5:
		return line("HSETNX", k, g.item(), g.item())
	}
	return line(g.of("HGETALL", "HLEN"), k)
}

func (g generator) list() []string {
	k := g.key()
	switch g.IntN(8) {
	case 0, 1:
		return line(g.of("LPUSH", "RPUSH"), k, g.items())
	case 2:
		return line(g.of("LPOP", "RPOP"), k, g.some([]string{g.of("0", "1", "2", "-1", "x")}))
	case 3:
		return line("LRANGE", k, g.index(), g.index())
	case 4:
		return line("LINDEX", k, g.of(g.index(), "x"))
	case 5:
		return line("LREM", k, g.index(), g.item())
	case 6:
		return line("LMOVE", k, g.key(), g.of("LEFT", "RIGHT"), g.of("left", "right", "x"))
	}
	return line(g.of("RPOPLPUSH", "LLEN"), k, g.some([]string{g.key()}))
}

func (g generator) set() []string {
	switch g.IntN(3) {
	case 0:
		return line(g.of("SADD", "SREM"), g.key(), g.items())
	case 1:
		return line("SISMEMBER", g.key(), g.item())
	}
	return line(g.of("SMEMBERS", "SCARD"), g.key())
}

func (g generator) zset() []string {
	k := g.key()
	limit := []string{"LIMIT", g.index(), g.index()}
	switch g.IntN(6) {
	case 0, 1:
		return line("ZADD", k, g.some([]string{g.of("NX", "XX")}, []string{g.of("GT", "LT")}, []string{"CH"}, []string{"INCR"}), g.pairs(g.score))
	case 2:
		return line(g.of("ZREM", "ZSCORE", "ZRANK", "ZCARD"), k, g.some([]string{g.item()}))
	case 3:
		return line("ZRANGE", k, g.index(), g.index(), g.some([]string{"REV"}, []string{"WITHSCORES"}))
	case 4:
		return line("ZRANGE", k, g.score(), g.score(), "BYSCORE", g.some([]string{"REV"}, []string{"WITHSCORES"}, limit))
	}
	return line(g.of("ZRANGEBYSCORE", "ZREMRANGEBYSCORE"), k, g.of("-inf", "(1", "2"), g.of("inf", "(2.5", "0"), g.some(limit))
}

// script runs a random command inside a script: one of which the reply
// neither depends on the very millisecond nor has an order of its own.
func (g generator) script() []string {
	inner := g.command()
	for slices.Contains([]string{"EVAL", "SCAN", "SMEMBERS", "KEYS", "TTL", "PTTL"}, inner[0]) {
		inner = g.command()
	}
	source := fmt.Sprintf("return redis.%s(unpack(ARGV))", g.of("call", "pcall"))
	return line("EVAL", source, "0", inner)
}

func TestRandomSequencesAsOnARealServer(t *testing.T) {
	server := StartRealServer(t)
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 1))}
			p := &pair{t: t, model: New(), real: server.Dial(t)}
			p.real.Do("FLUSHALL")
			p.random(g, 400)
		})
	}
}

// random compares n random commands, then all that is left.
func (p *pair) random(g generator, n int) {
	for range n {
		p.both(g.command()...)
		if p.t.Failed() {
			return
		}
	}
	p.compareDatasets()
}

func TestEffectsMakeTheSameDatasetOnAReplica(t *testing.T) {
	for seed := range uint64(50) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		master, replica := New(), New()
		now := start
		for range 300 {
			now = now.Add(time.Duration(g.IntN(20)) * time.Millisecond)
			command := g.withShortEnds(g.command())
			for _, effect := range master.Do(now, Master, command).Effects {
				// The replica's clock is wrong, which must not matter.
				replica.Apply(now.Add(-time.Hour), effect)
			}
			if m, r := raw(master), raw(replica); !reflect.DeepEqual(m, r) {
				t.Fatalf("seed %d: after %q (-master +replica)\n%s", seed, command, cmp.Diff(m, r))
			}
		}
	}
}

// withShortEnds makes some keys of a sequence end while it runs.
func (g generator) withShortEnds(command []string) []string {
	ms := strconv.Itoa(1 + g.IntN(100))
	switch g.IntN(10) {
	case 0:
		return []string{"SET", g.key(), "v", "PX", ms}
	case 1:
		return []string{"PEXPIRE", g.key(), ms}
	}
	return command
}

// raw is a keyspace as it is in memory.
func raw(k *Keyspace) map[string]any {
	all := map[string]any{}
	for key, e := range k.entries {
		all[key] = []any{e.expireAt, rawValue(e.value)}
	}
	return all
}

func rawValue(v value) any {
	switch v := v.(type) {
	case text:
		return string(v)
	case *list:
		return slices.Clone(v.items)
	case *hash:
		return []any{slices.Clone(v.names), slices.Clone(v.contents)}
	case *set:
		return slices.Clone(v.names)
	}
	shown := []string{}
	for _, s := range v.(*zset).sorted {
		shown = append(shown, s.member, formatFloat(s.score))
	}
	return shown
}
