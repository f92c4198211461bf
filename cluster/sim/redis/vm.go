package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// vm is the Lua interpreter of one keyspace. It is made once and runs all
// scripts, one after the other; nothing of one script is left to the next.
type vm struct {
	k       *Keyspace
	state   *lua.LState
	globals *lua.LTable // behind the read-only table that scripts see
	fuse    *fuse
	args    []string // of redis.call, reused
	frozen  map[*lua.LTable]bool
	known   map[*compiled]*lua.LFunction // scripts that it has run
	seed    uint64                       // of math.random
	at      string                       // where the last error was raised: "user_script:3"
}

// fuse is the context of all scripts. The interpreter asks it before each
// instruction, and it blows after so many: an endless script ends with an
// error, always at the same instruction, whatever the machine's speed.
type fuse struct {
	context.Context
	left int
}

// What one script may use: well under a second. A redis.call counts as many
// instructions.
const (
	instructions     = 5_000_000
	callInstructions = 100
)

var (
	errEndless = errors.New("script stopped: it used " + strconv.Itoa(instructions) + " instructions")
	blown      = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
)

// Done is nil, which never is ready, until the fuse blows.
func (f *fuse) Done() <-chan struct{} {
	if f.left > 0 {
		f.left--
		return nil
	}
	return blown
}

// Err says why scripts are stopped.
func (f *fuse) Err() error { return errEndless }

// used are interpreters that nobody uses at present: one costs as much to make as
// hundreds of scripts to run.
var used sync.Pool

// borrowVM answers an interpreter for a keyspace, as good as new.
func borrowVM(k *Keyspace) *vm {
	v, ok := used.Get().(*vm)
	if !ok {
		return newVM(k)
	}
	v.k, v.seed = k, initialSeed
	return v
}

// Retire gives back what a keyspace has borrowed. It must not be used afterwards.
func (k *Keyspace) Retire() {
	if v := k.vm; v != nil && len(v.known) < cacheLimit {
		k.vm, v.k = nil, nil
		used.Put(v)
	}
}

func newVM(k *Keyspace) *vm {
	v := &vm{
		k:      k,
		fuse:   &fuse{Context: context.Background()},
		frozen: map[*lua.LTable]bool{},
		known:  map[*compiled]*lua.LFunction{},
		seed:   initialSeed,
	}
	v.state = lua.NewState(lua.Options{
		SkipOpenLibs:    true,
		CallStackSize:   200,
		RegistrySize:    1024,
		RegistryMaxSize: 1 << 20,
	})
	v.open()
	v.state.SetContext(v.fuse)
	return v
}

// run calls a script and answers its reply.
func (v *vm) run(s *script, keys, argv []string) any {
	function := v.known[s.compiled]
	if function == nil {
		function = v.state.NewFunctionFromProto(s.proto)
		v.known[s.compiled] = function
	}
	v.globals.RawSetString("KEYS", v.array(keys))
	v.globals.RawSetString("ARGV", v.array(argv))
	v.fuse.left = instructions
	v.at = ""
	v.state.Push(function)
	if err := v.state.PCall(0, 1, nil); err != nil {
		return v.failure(err, s)
	}
	returned := v.state.Get(-1)
	v.state.Pop(1)
	conversion := conversion{budget: replyLimit}
	return conversion.reply(returned, 0)
}

func (v *vm) array(items []string) *lua.LTable {
	t := v.state.CreateTable(len(items), 0)
	for i, item := range items {
		t.RawSetInt(i+1, lua.LString(item))
	}
	return t
}

// failure words the error with which a script ended: its message, the
// script, and the line.
func (v *vm) failure(err error, s *script) Error {
	raised, isRaised := errors.AsType[*lua.ApiError](err)
	if !isRaised || raised.Object == nil {
		return Error("ERR " + oneLine(err.Error()))
	}
	message := ""
	switch object := raised.Object.(type) {
	case *lua.LTable:
		if text := object.RawGetString("err"); lua.LVCanConvToString(text) {
			message = v.text(text)
		}
	case lua.LString:
		message = "ERR " + oneLine(string(object))
		if place, _, found := strings.Cut(string(object), ": "); found && strings.HasPrefix(place, "user_script:") {
			v.at = place
		}
	default:
		message = "ERR " + v.text(object)
	}
	if v.at != "" {
		message += " script: " + s.sha + ", on @" + v.at + "."
	}
	return Error(message)
}

// mark remembers the line of the script that is about to raise an error.
func (v *vm) mark(l *lua.LState) { v.at = strings.TrimSuffix(l.Where(1), ":") }
