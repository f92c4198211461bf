package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// script is a Lua script that the server has seen.
type script struct {
	*compiled
	sha string
}

// compiled is what all keyspaces share of a script: it never changes.
type compiled struct {
	proto *lua.FunctionProto
	// declared: the script begins with #!lua, and so says what it does.
	declared bool
	noWrites bool
}

// cache keeps compiled scripts by source, so that a thousand runs of the
// same designs compile each script once. It is the package's only global
// state, and no result depends on it.
var cache = struct {
	sync.Mutex
	bySource map[string]*compiled
}{bySource: map[string]*compiled{}}

// cacheLimit bounds the cache; a full one starts again.
const cacheLimit = 1000

// compile answers the compiled source, or how the server words what is wrong
// with it.
func compile(source string) (*compiled, any) {
	cache.Lock()
	defer cache.Unlock()
	if c := cache.bySource[source]; c != nil {
		return c, nil
	}
	c := &compiled{}
	body, bad := c.shebang(source)
	if bad != nil {
		return nil, bad
	}
	chunk, err := parse.Parse(strings.NewReader(body), "user_script")
	if err == nil {
		exactConcat(chunk)
		c.proto, err = lua.Compile(chunk, "user_script")
	}
	if err != nil {
		return nil, Error("ERR Error compiling script (new function): " + oneLine(err.Error()))
	}
	// The interpreter would make a table "arg" for each call, as Lua 5.0 did.
	c.proto.IsVarArg &^= lua.VarArgNeedsArg
	if len(cache.bySource) >= cacheLimit {
		clear(cache.bySource)
	}
	cache.bySource[source] = c
	return c, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// shebang reads a first line "#!lua flags=…" and answers the rest, with its
// line numbers as they were.
func (c *compiled) shebang(source string) (body string, bad any) {
	if !strings.HasPrefix(source, "#!") {
		return source, nil
	}
	line, rest, found := strings.Cut(source, "\n")
	if !found {
		return "", Error("ERR Invalid script shebang")
	}
	parts := strings.Fields(line)
	if parts[0] != "#!lua" {
		return "", Error("ERR Unexpected engine in script shebang: " + parts[0])
	}
	c.declared = true
	for _, part := range parts[1:] {
		flags, isFlags := strings.CutPrefix(part, "flags=")
		if !isFlags {
			return "", Error("ERR Unknown lua shebang option: " + part)
		}
		for flag := range strings.SplitSeq(flags, ",") {
			switch flag {
			case "no-writes":
				c.noWrites = true
			case "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return "", Error("ERR Unexpected flag in script shebang: " + flag)
			}
		}
	}
	return "\n" + rest, nil
}

// learn remembers a script by its hash.
func (k *Keyspace) learn(source string) (*script, any) {
	sum := sha1.Sum([]byte(source))
	var hash [40]byte
	hex.Encode(hash[:], sum[:])
	if s := k.scripts[string(hash[:])]; s != nil {
		return s, nil
	}
	c, bad := compile(source)
	if bad != nil {
		return nil, bad
	}
	s := &script{compiled: c, sha: string(hash[:])}
	k.scripts[s.sha] = s
	return s, nil
}

func (k *Keyspace) eval(args []string) any      { return k.evalSource(args, false) }
func (k *Keyspace) evalRO(args []string) any    { return k.evalSource(args, true) }
func (k *Keyspace) evalSHA(args []string) any   { return k.evalKnown(args, false) }
func (k *Keyspace) evalSHARO(args []string) any { return k.evalKnown(args, true) }

func (k *Keyspace) evalSource(args []string, readOnlyCall bool) any {
	keys, bad := keyCount(args)
	if bad != nil {
		return bad
	}
	s, bad := k.learn(args[1])
	if bad != nil {
		return bad
	}
	return k.runScript(s, args[3:3+keys], args[3+keys:], readOnlyCall)
}

func (k *Keyspace) evalKnown(args []string, readOnlyCall bool) any {
	if len(args[1]) != 40 {
		return noScriptError
	}
	keys, bad := keyCount(args)
	if bad != nil {
		return bad
	}
	s := k.scripts[args[1]]
	if s == nil {
		if s = k.scripts[strings.ToLower(args[1])]; s == nil {
			return noScriptError
		}
	}
	return k.runScript(s, args[3:3+keys], args[3+keys:], readOnlyCall)
}

const noScriptError Error = "NOSCRIPT No matching script. Please use EVAL."

// keyCount reads how many of the arguments of a script are keys.
func keyCount(args []string) (int, any) {
	n, isInt := integer(args[2])
	switch {
	case !isInt:
		return 0, notInteger
	case n > int64(len(args)-3):
		return 0, Error("ERR Number of keys can't be greater than number of args")
	case n < 0:
		return 0, Error("ERR Number of keys can't be negative")
	}
	return int(n), nil
}

// running is the script that runs at the moment.
type running struct {
	script   *script
	readOnly bool
}

func (k *Keyspace) runScript(s *script, keys, argv []string, readOnlyCall bool) any {
	if s.declared && !s.noWrites {
		switch {
		case k.mode == Replica:
			return readOnly
		case readOnlyCall:
			return Error("ERR Can not execute a script with write flag using *_ro command.")
		}
	}
	if k.vm == nil {
		k.vm = borrowVM(k)
	}
	k.running = running{script: s, readOnly: readOnlyCall || s.noWrites}
	reply := k.vm.run(s, keys, argv)
	k.running = running{}
	// A script is replicated by its effects, never as a script.
	k.touched, k.rewritten = false, true
	return reply
}

// callFromScript executes one redis.call. Its checks are those of a script,
// with their own wording.
func (k *Keyspace) callFromScript(args []string) any {
	row, bad := k.row(args)
	switch {
	case bad != nil && row == nil:
		return Error("ERR Unknown Redis command called from script")
	case bad != nil:
		return Error("ERR Wrong number of args calling Redis command from script")
	case row.flags&noScript != 0:
		return Error("ERR This Redis command is not allowed from script")
	case k.running.readOnly && row.flags&(write|mayReplicate) != 0:
		return Error("ERR Write commands are not allowed from read-only scripts.")
	case k.mode == Replica && row.flags&write != 0:
		return readOnly
	}
	return k.run(row, args)
}

func (k *Keyspace) scriptLoad(args []string) any {
	s, bad := k.learn(args[2])
	if bad != nil {
		return bad
	}
	return s.sha
}

func (k *Keyspace) scriptExists(args []string) any {
	reply := make([]any, 0, len(args)-2)
	for _, sha := range args[2:] {
		reply = append(reply, yes(k.scripts[strings.ToLower(sha)] != nil))
	}
	return reply
}

func (k *Keyspace) scriptFlush(args []string) any {
	if len(args) > 3 || len(args) == 3 && !slices.ContainsFunc([]string{"SYNC", "ASYNC"}, func(mode string) bool { return is(args[2], mode) }) {
		return Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	clear(k.scripts)
	k.vm = nil
	return ok
}
