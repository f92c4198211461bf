package redis

import (
	"slices"
	"strings"
)

// command is one row of the table of commands.
type command struct {
	name string
	// arity counts the name too; negative: at least so many.
	arity int
	flags flag
	do    func(k *Keyspace, args []string) any
	// sub holds the commands behind a second word (SCRIPT LOAD), by that
	// word; then do is nil.
	sub map[string]*command
}

// flag says when a command is allowed, as COMMAND INFO tells it.
type flag uint8

const (
	write        flag = 1 << iota // refused by replicas and read-only scripts
	loading                       // allowed while the dataset is being loaded
	noScript                      // refused inside scripts
	mayReplicate                  // refused by read-only scripts
)

func index(rows ...*command) map[string]*command {
	byName := make(map[string]*command, 2*len(rows))
	for _, row := range rows {
		_, word, isSub := strings.Cut(row.name, "|")
		if !isSub {
			word = row.name
		}
		byName[word] = row
		byName[strings.ToUpper(word)] = row
	}
	return byName
}

// known finds a row by a name in any case.
func known(table map[string]*command, name string) *command {
	if row := table[name]; row != nil {
		return row
	}
	return table[strings.ToLower(name)]
}

// execute runs one command of a client: the checks of the real server in
// their order, then the command.
func (k *Keyspace) execute(args []string) any {
	row, bad := k.row(args)
	if bad != nil {
		return bad
	}
	if row.flags&write != 0 && k.mode == Replica {
		return readOnly
	}
	if row.flags&loading == 0 && k.mode == Loading {
		return stillLoading
	}
	return k.run(row, args)
}

// row finds the command that args name and checks their number. It answers
// a row and an error if only the number is wrong.
func (k *Keyspace) row(args []string) (*command, any) {
	if len(args) == 0 {
		return nil, unknownCommand([]string{""})
	}
	row := known(k.table, args[0])
	if row == nil {
		return nil, unknownCommand(args)
	}
	if row.sub != nil && len(args) > 1 {
		sub := known(row.sub, args[1])
		if sub == nil {
			return nil, Error("ERR unknown subcommand '" + args[1] + "'. Try " + strings.ToUpper(row.name) + " HELP.")
		}
		row = sub
	}
	if !row.takes(len(args)) || row.do == nil {
		return row, wrongArity(row.name)
	}
	return row, nil
}

func (c *command) takes(n int) bool {
	if c.arity < 0 {
		return n >= -c.arity
	}
	return n == c.arity
}

// run executes a command and records its effect: itself, unless it has told
// another, if it changed something.
func (k *Keyspace) run(row *command, args []string) any {
	k.touched, k.rewritten = false, false
	reply := row.do(k, args)
	if k.touched && !k.rewritten && k.mode != applying {
		effect := slices.Clone(args)
		effect[0] = strings.ToUpper(effect[0])
		k.effects = append(k.effects, effect)
	}
	return reply
}

// commands is the table of all commands. Arity and flags are those of
// COMMAND INFO of Redis 7.0.
var commands = index(
	&command{name: "ping", arity: -1, do: (*Keyspace).ping},
	&command{name: "echo", arity: 2, flags: loading, do: (*Keyspace).echo},
	&command{name: "time", arity: 1, flags: loading, do: (*Keyspace).clock},
	&command{name: "select", arity: 2, flags: loading, do: (*Keyspace).selectDB},
	&command{name: "publish", arity: 3, flags: loading | mayReplicate, do: (*Keyspace).publish},

	&command{name: "dbsize", arity: 1, do: (*Keyspace).dbSize},
	&command{name: "flushall", arity: -1, flags: write, do: (*Keyspace).flush},
	&command{name: "flushdb", arity: -1, flags: write, do: (*Keyspace).flush},
	&command{name: "keys", arity: 2, do: (*Keyspace).keys},
	&command{name: "scan", arity: -2, do: (*Keyspace).scan},
	&command{name: "type", arity: 2, do: (*Keyspace).typeOf},
	&command{name: "del", arity: -2, flags: write, do: (*Keyspace).del},
	&command{name: "unlink", arity: -2, flags: write, do: (*Keyspace).del},
	&command{name: "exists", arity: -2, do: (*Keyspace).exists},

	&command{name: "expire", arity: -3, flags: write, do: (*Keyspace).expire},
	&command{name: "pexpire", arity: -3, flags: write, do: (*Keyspace).pexpire},
	&command{name: "expireat", arity: -3, flags: write, do: (*Keyspace).expireAt},
	&command{name: "pexpireat", arity: -3, flags: write, do: (*Keyspace).pexpireAt},
	&command{name: "ttl", arity: 2, do: (*Keyspace).ttl},
	&command{name: "pttl", arity: 2, do: (*Keyspace).pttl},
	&command{name: "expiretime", arity: 2, do: (*Keyspace).expireTime},
	&command{name: "pexpiretime", arity: 2, do: (*Keyspace).pexpireTime},
	&command{name: "persist", arity: 2, flags: write, do: (*Keyspace).persist},

	&command{name: "set", arity: -3, flags: write, do: (*Keyspace).set},
	&command{name: "get", arity: 2, do: (*Keyspace).get},
	&command{name: "getset", arity: 3, flags: write, do: (*Keyspace).getSet},
	&command{name: "getdel", arity: 2, flags: write, do: (*Keyspace).getDel},
	&command{name: "getex", arity: -2, flags: write, do: (*Keyspace).getEx},
	&command{name: "setnx", arity: 3, flags: write, do: (*Keyspace).setNX},
	&command{name: "setex", arity: 4, flags: write, do: (*Keyspace).setEx},
	&command{name: "psetex", arity: 4, flags: write, do: (*Keyspace).psetEx},
	&command{name: "mset", arity: -3, flags: write, do: (*Keyspace).mset},
	&command{name: "msetnx", arity: -3, flags: write, do: (*Keyspace).msetNX},
	&command{name: "mget", arity: -2, do: (*Keyspace).mget},
	&command{name: "append", arity: 3, flags: write, do: (*Keyspace).appendTo},
	&command{name: "getrange", arity: 4, do: (*Keyspace).getRange},
	&command{name: "strlen", arity: 2, do: size[text]},
	&command{name: "incr", arity: 2, flags: write, do: (*Keyspace).incr},
	&command{name: "decr", arity: 2, flags: write, do: (*Keyspace).decr},
	&command{name: "incrby", arity: 3, flags: write, do: (*Keyspace).incrBy},
	&command{name: "decrby", arity: 3, flags: write, do: (*Keyspace).decrBy},

	&command{name: "hset", arity: -4, flags: write, do: (*Keyspace).hset},
	&command{name: "hsetnx", arity: 4, flags: write, do: (*Keyspace).hsetNX},
	&command{name: "hget", arity: 3, do: (*Keyspace).hget},
	&command{name: "hmget", arity: -3, do: (*Keyspace).hmget},
	&command{name: "hgetall", arity: 2, do: (*Keyspace).hgetAll},
	&command{name: "hdel", arity: -3, flags: write, do: (*Keyspace).hdel},
	&command{name: "hexists", arity: 3, do: (*Keyspace).hexists},
	&command{name: "hincrby", arity: 4, flags: write, do: (*Keyspace).hincrBy},
	&command{name: "hlen", arity: 2, do: size[*hash]},

	&command{name: "lpush", arity: -3, flags: write, do: (*Keyspace).lpush},
	&command{name: "rpush", arity: -3, flags: write, do: (*Keyspace).rpush},
	&command{name: "lpop", arity: -2, flags: write, do: (*Keyspace).lpop},
	&command{name: "rpop", arity: -2, flags: write, do: (*Keyspace).rpop},
	&command{name: "llen", arity: 2, do: size[*list]},
	&command{name: "lrange", arity: 4, do: (*Keyspace).lrange},
	&command{name: "lindex", arity: 3, do: (*Keyspace).lindex},
	&command{name: "lrem", arity: 4, flags: write, do: (*Keyspace).lrem},
	&command{name: "rpoplpush", arity: 3, flags: write, do: (*Keyspace).rpopLpush},
	&command{name: "lmove", arity: 5, flags: write, do: (*Keyspace).lmove},

	&command{name: "sadd", arity: -3, flags: write, do: (*Keyspace).sadd},
	&command{name: "srem", arity: -3, flags: write, do: (*Keyspace).srem},
	&command{name: "sismember", arity: 3, do: (*Keyspace).sisMember},
	&command{name: "smembers", arity: 2, do: (*Keyspace).smembers},
	&command{name: "scard", arity: 2, do: size[*set]},

	&command{name: "zadd", arity: -4, flags: write, do: (*Keyspace).zadd},
	&command{name: "zrem", arity: -3, flags: write, do: (*Keyspace).zrem},
	&command{name: "zscore", arity: 3, do: (*Keyspace).zscore},
	&command{name: "zrange", arity: -4, do: (*Keyspace).zrange},
	&command{name: "zrangebyscore", arity: -4, do: (*Keyspace).zrangeByScore},
	&command{name: "zcard", arity: 2, do: size[*zset]},
	&command{name: "zrank", arity: 3, do: (*Keyspace).zrank},
	&command{name: "zremrangebyscore", arity: 4, flags: write, do: (*Keyspace).zremRangeByScore},

	&command{name: "eval", arity: -3, flags: noScript, do: (*Keyspace).eval},
	&command{name: "evalsha", arity: -3, flags: noScript, do: (*Keyspace).evalSHA},
	&command{name: "eval_ro", arity: -3, flags: noScript, do: (*Keyspace).evalRO},
	&command{name: "evalsha_ro", arity: -3, flags: noScript, do: (*Keyspace).evalSHARO},
	&command{name: "script", arity: -2, flags: noScript, sub: index(
		&command{name: "script|load", arity: 3, flags: noScript, do: (*Keyspace).scriptLoad},
		&command{name: "script|exists", arity: -3, flags: noScript, do: (*Keyspace).scriptExists},
		&command{name: "script|flush", arity: -2, flags: noScript, do: (*Keyspace).scriptFlush},
	)},
)
