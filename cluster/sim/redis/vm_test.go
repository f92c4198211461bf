package redis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndlessScriptsAreStopped(t *testing.T) {
	for name, script := range map[string]string{
		"a loop":                           "while true do end",
		"a loop that catches errors":       "while true do pcall(function() while true do end end) end",
		"a loop that writes":               "while true do redis.call('set', 'k', 'v') end",
		"a recursion":                      "local function f() return 1 + f() end return f()",
		"a string that doubles":            "local s = 'x' while true do s = s .. s end",
		"a long string":                    "return string.rep('x', 1e12)",
		"a table within itself, returned":  "local t = {} t[1] = t t[2] = t return t",
		"a table within itself, as JSON":   "local t = {} t[1] = t return cjson.encode(t)",
		"a metatable that asks for itself": "local t = {} setmetatable(t, {__index = function(t, k) return t[k] end}) return t.x",
	} {
		t.Run(name, func(t *testing.T) {
			k := New()
			reply := k.Do(start, Master, []string{"EVAL", script, "0"}).Reply
			if !containsError(reply) {
				t.Errorf("reply %.100q, want an error", fmt.Sprint(reply))
			}
			if got := k.Do(start, Master, []string{"EVAL", "return 1", "0"}).Reply; got != int64(1) {
				t.Errorf("the next script answers %v", got)
			}
		})
	}
}

func TestCallsCountMoreThanOtherInstructions(t *testing.T) {
	loop := "for i = 1, 10000000 do redis.call('set', 'k', i) end"
	effects := New().Do(start, Master, []string{"EVAL", loop, "0"}).Effects
	if n := len(effects); n < 10_000 || n > instructions/callInstructions {
		t.Errorf("the script was stopped after %d writes", n)
	}
}

func containsError(reply any) bool {
	items, isArray := reply.([]any)
	for isArray && len(items) > 0 {
		reply = items[0]
		items, isArray = reply.([]any)
	}
	_, isError := reply.(Error)
	return isError
}

func TestAScriptLeavesNothingToTheNext(t *testing.T) {
	k := New()
	for _, attempt := range []string{
		"leak = 1", "_G.leak = 1", "rawset(_G, 'leak', 1)", "string.leak = 1", "rawset(string, 'leak', 1)", "table.insert(table, 1)",
		"table.insert(_G, 1)", "setmetatable(string, {})", "getmetatable('').__index = nil", "getmetatable('').leak = 1", "redis.leak = 1", "math.leak = 1",
		"getmetatable(_G).__index = nil", "string.format = nil", "KEYS.x = 1", "ARGV[1] = 'leak'",
	} {
		k.Do(start, Master, []string{"EVAL", attempt, "1", "key", "argument"})
	}
	const look = `
local found = {}
for _, t in ipairs({_G, string, table, math, redis, cjson, KEYS, ARGV, getmetatable('')}) do
	found[#found + 1] = tostring(rawget(t, 'leak')) .. tostring(rawget(t, 'x')) .. tostring(#t)
end
found[#found + 1] = ('x'):upper() .. string.format('%d', 1)
return found`
	got := k.Do(start, Master, []string{"EVAL", look, "0"}).Reply
	want := New().Do(start, Master, []string{"EVAL", look, "0"}).Reply
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after other scripts (-fresh +used)\n%s", diff)
	}
}

func TestTheSameCommandsGiveTheSameResults(t *testing.T) {
	run := func() []Result {
		g := generator{rand.New(rand.NewPCG(5, 5))}
		k := New()
		results := []Result{}
		for range 2000 {
			results = append(results, k.Do(start, Master, g.command()))
		}
		const unordered = "local t, s = {b=1, a=2, [1]=3, [1.5]=4}, '' for k, v in pairs(t) do s = s .. tostring(k) .. tostring(v) end return s .. tostring({}) .. math.random()"
		return append(results, k.Do(start, Master, []string{"EVAL", unordered, "0"}))
	}
	first := run()
	// Many keyspaces at once share the compiled scripts and nothing else.
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			if diff := cmp.Diff(first, run()); diff != "" {
				t.Errorf("(-first +other)\n%.2000s", diff)
			}
		})
	}
	others.Wait()
}

func TestTheCacheOfScriptsIsBounded(t *testing.T) {
	k := New()
	for i := range cacheLimit + 10 {
		source := fmt.Sprintf("return %d", i)
		if got := k.Do(start, Master, []string{"EVAL", source, "0"}).Reply; got != int64(i) {
			t.Fatalf("%s = %v", source, got)
		}
	}
	if n := len(cache.bySource); n > cacheLimit {
		t.Errorf("%d scripts are cached", n)
	}
}

func TestArgumentsAreNotKept(t *testing.T) {
	k := New()
	args := words("RPUSH l a b")
	result := k.Do(start, Master, args)
	for i := range args {
		args[i] = "overwritten"
	}
	if got := strings.Join(result.Effects[0], " "); got != "RPUSH l a b" {
		t.Errorf("the effect became %q", got)
	}
}
