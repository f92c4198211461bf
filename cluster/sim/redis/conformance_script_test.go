package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The scripts that lock designs are made of.
const (
	renew = `
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`

	reentrantAcquire = `
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
return redis.call('pttl', KEYS[1])`

	reentrantRelease = `
if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1)
if counter > 0 then
	redis.call('pexpire', KEYS[1], ARGV[2])
	return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], ARGV[1])
return 1`

	checkAndDecrement = `
local stock = tonumber(redis.call('GET', KEYS[1]) or '0')
local quantity = tonumber(ARGV[1])
if stock < quantity then return {-1, stock} end
redis.call('DECRBY', KEYS[1], quantity)
redis.call('RPUSH', KEYS[2], ARGV[2] .. ':' .. ARGV[1])
return {1, stock - quantity}`

	fencedAcquire = `
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('incr', KEYS[2])
end
return false`

	fencedWrite = `
local seen = tonumber(redis.call('HGET', KEYS[1], 'fence')) or 0
if tonumber(ARGV[1]) < seen then
	return redis.error_reply('STALE fence ' .. ARGV[1] .. ' < ' .. seen)
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'stock', ARGV[2])
return redis.status_reply('WRITTEN')`

	segments = `
for i, key in ipairs(KEYS) do
	local left = tonumber(redis.call('get', key) or 0)
	if left > 0 then
		return {key, redis.call('decr', key)}
	end
end
return {false, 'never reached'}`

	oncePerOrder = `
if redis.call('sadd', KEYS[1], ARGV[1]) == 0 then return {ok='DUPLICATE'} end
local left = redis.call('decrby', KEYS[2], 1)
if left < 0 then
	redis.call('incrby', KEYS[2], 1)
	redis.call('srem', KEYS[1], ARGV[1])
	return {err='SOLDOUT nothing left'}
end
return left`
)

// evaluation is one run of a script.
type evaluation struct {
	script string
	keys   string
	args   string
}

func (e evaluation) command(name string) []string {
	keys := split(e.keys)
	command := []string{name, e.script, "0"}
	if len(keys) > 0 {
		command[2] = string(rune('0' + len(keys)))
	}
	return append(append(command, keys...), split(e.args)...)
}

func TestScriptsOfLockDesignsAsOnARealServer(t *testing.T) {
	p := newPair(t)
	for _, e := range []evaluation{
		{compareAndDelete, "lock", "me"},
		{fencedAcquire, "lock fence", "me 100000"},
		{fencedAcquire, "lock fence", "other 100000"},
		{compareAndDelete, "lock", "other"},
		{renew, "lock", "other 200000"},
		{renew, "lock", "me 200000"},
		{renew, "lock", "me 0"},
		{renew, "lock", "me x"},
		{fencedAcquire, "lock fence", "me x"},
		{fencedAcquire, "lock fence", "me 100000"},
		{compareAndDelete, "lock", "me"},
		{reentrantAcquire, "rlock", "100000 w1:1"},
		{reentrantAcquire, "rlock", "100000 w1:1"},
		{`return redis.call('pttl', KEYS[1]) > 99000`, "rlock", ""},
		{reentrantRelease, "rlock channel", "0 100000 w2:1"},
		{reentrantRelease, "rlock channel", "0 100000 w1:1"},
		{reentrantRelease, "rlock channel", "0 100000 w1:1"},
		{reentrantRelease, "rlock channel", "0 100000 w1:1"},
		{checkAndDecrement, "stock orders", "1 order-1"},
		{`return redis.call('set', KEYS[1], ARGV[1])`, "stock", "3"},
		{checkAndDecrement, "stock orders", "2 order-2"},
		{checkAndDecrement, "stock orders", "2 order-3"},
		{checkAndDecrement, "stock orders", "x order-3"},
		{fencedWrite, "item", "5 10"},
		{fencedWrite, "item", "4 11"},
		{fencedWrite, "item", "6 9"},
		{segments, "seg:1 stock seg:2", ""},
		{segments, "seg:1 stock seg:2", ""},
		{oncePerOrder, "orders:seen stock", "o1"},
		{oncePerOrder, "orders:seen stock", "o1"},
		{oncePerOrder, "orders:seen stock", "o1"},
	} {
		p.script(e)
	}
	p.compareDatasets()
}

var luaWording = regexp.MustCompile("^ERR (user_script|Error compiling)")

// script runs a script on both. Errors that Lua itself raises have the
// interpreter's own wording; then only code, script and line are compared.
func (p *pair) script(e evaluation) {
	p.t.Helper()
	args := e.command("EVAL")
	real := p.real.Do(args...)
	model := p.model.Do(time.Now(), p.mode, args).Reply
	if realError, isError := real.(Error); isError && luaWording.MatchString(string(realError)) {
		real, model = kind(real), kind(model)
	}
	if diff := cmp.Diff(real, model, p.real.version.alike()); diff != "" {
		p.t.Errorf("%s\n(-real +model)\n%s", quote(args), diff)
	}
}

// kind leaves of an error its code, the script and the line.
func kind(reply any) any {
	message, isError := reply.(Error)
	if !isError {
		return reply
	}
	code, rest, _ := strings.Cut(string(message), " ")
	_, place, _ := strings.Cut(rest, "script: ")
	return Error(code + " " + place)
}

func TestConversionsAndErrorsOfScriptsAsOnARealServer(t *testing.T) {
	p := newPair(t)
	p.both("SET", "s", "10")
	p.both("RPUSH", "l", "a", "b")
	for _, script := range []string{
		`return 1`, `return 3.99`, `return -3.99`, `return 1e18`, `return 1/0`, `return -1/0`, `return 0/0`, `return true`, `return false`, `return nil`, `return`, ``,
		`return 'text'`, `return {1,2,3.7,'x',true,false,4}`, `return {1,nil,3}`, `return {}`, `return {{1},{2,{3}}}`, `return {a=1}`, `return {1,2,a=3}`, `return function() end`,
		`return {ok='FINE'}`, `return {err='MYERR bad'}`, `return {err='bad'}`, `return {err=5}`, `return {ok=5}`, `return {1,{ok='A'},{err='B c'}}`, `return {double=3.5}`,
		`return redis.status_reply('FINE')`, `return redis.error_reply('MYERR bad')`, `return redis.error_reply('bad')`, `return redis.error_reply('-MYERR bad')`, `return redis.error_reply('-bad')`,
		`return redis.error_reply(1)`, `return redis.error_reply()`, `return redis.status_reply(1)`, `return redis.error_reply('MYERR bad').err`, `return type(redis.error_reply('x y'))`,
		`return redis.call('get','s')`, `return redis.call('get','none')`, `return type(redis.call('get','none'))`, `return redis.call('set','a','b')`, `return redis.call('set','a','b').ok`, `return redis.call('set','a','b','nx')`,
		`return redis.call('lrange','l',0,-1)`, `return #redis.call('lrange','l',0,-1)`, `return redis.call('incr','n')`, `return type(redis.call('incr','n'))`, `return redis.call('mget','s','none','a')`,
		`return redis.call('lpop','s')`, `return redis.pcall('lpop','s')`, `return redis.pcall('lpop','s').err`, `return redis.call('nosuch')`, `return redis.pcall('nosuch')`, `return redis.call('get')`, `return redis.pcall('get')`,
		`return redis.call()`, `return redis.pcall()`, `return redis.call('set','a',nil)`, `return redis.call('set','a',true)`, `return redis.call('set','a',{})`, `return redis.pcall('set','a',{})`, `return redis.call('script','load','return 1')`, `return redis.call('script','nosuch')`,
		`return redis.call('eval','return 1',0)`, `return redis.pcall('eval','return 1',0)`, `return redis.call('script','load')`,
		`redis.call('set','f',3.0) return redis.call('get','f')`, `redis.call('set','f',3.14) return redis.call('get','f')`, `redis.call('set','f',1e15) return redis.call('get','f')`, `redis.call('set','f',0.1) return redis.call('get','f')`, `redis.call('set','f',1e17) return redis.call('get','f')`, `redis.call('set','f',-5) return redis.call('get','f')`,
		`return tostring(1)`, `return tostring(1.5)`, `return tostring(0.1)`, `return tostring(1e15)`, `return tostring(1e14)`, `return tostring(123456789012345)`, `return tostring(99999999999999)`, `return tostring(-1e100)`, `return tostring(1/0)`, `return tostring(1/3)`, `return tostring(nil)`, `return tostring(true)`, `return tostring('x')`,
		`return 1 .. ''`, `return 1.5 .. 'x'`, `return 'a' .. 1 .. 'b'`, `return 1e15 .. ''`, `return 1/3 .. ''`, `return 0.1 + 0.2 .. ''`, `local t = {1700000000, 123456}; return t[1] * 1000000 + t[2] .. ''`, `local n = 1e15; n = n .. ':' .. n return n`, `return 'a' .. nil`, `return {} .. 'a'`,
		`return table.concat({1,2,'x'}, ',')`, `return table.concat({1e15, 0.1}, ',')`, `return string.format('%d %s %5.2f %x', 3, 'x', 1.5, 255)`, `return string.format('%s', 1e15)`, `return string.format('%s', 1/3)`, `return string.format('%q', 'a"b')`, `return string.format('%i', 3)`, `return string.format('%.3f', 2)`, `return string.format('%05d', 42)`, `return string.format('%s', true)`, `return string.format('%s', nil)`, `return string.format('%d', '10')`, `return string.format('%%')`, `return string.format('%c', 65)`, `return string.format('%g', 1e20)`, `return string.format('%d', 3.7)`,
		`return tonumber('10')`, `return tonumber('0x10')`, `return tonumber('1e3')`, `return tonumber('')`, `return tonumber('abc')`, `return tonumber(nil)`, `return tonumber(false)`, `return tonumber(' 5 ')`, `return tonumber('5x')`, `return tonumber('10', 2)`, `return tonumber('ff', 16)`, `return tonumber('9223372036854775807')`, `return tonumber('1.5')`, `return tonumber('-3')`, `return tonumber({})`, `return tonumber('inf')`, `return type(tonumber('nan'))`,
		`return '10' + 5`, `return '10' * '2'`, `return 10 % 3`, `return -1 % 3`, `return 5.5 % 2`, `return 2 ^ 10`, `return 7 / 2`, `return 'a' < 'b'`, `return 1 < 2`, `return 1 == '1'`, `return not nil`, `return #'abc'`, `return #{1,2,3}`, `return nil == false`,
		`return 'x' + 1`, `return nil + 1`, `return 1 < 'x'`, `return {} < {}`, `return nil.x`, `local a; return a.b`, `local a; a()`, `return (5)()`, `return #nil`, `return -{}`,
		`error('boom')`, `error({err='MYERR boom'})`, `error({err='boom'})`, `error('boom', 0)`, `error()`, `error(nil)`, `error(5)`, `error({err=5})`, "\n\nerror('boom')", "local function f()\n error('boom')\nend\nf()", `assert(false)`, `assert(false, 'msg')`, `assert(nil, 'msg')`, `return assert(5, 'msg')`, `assert(redis.pcall('lpop','s').ok)`, `return assert(redis.pcall('get', 's'))`,
		`return pcall(function() error('boom') end)`, `local ok, e = pcall(function() error('boom') end) return e`, `local ok, e = pcall(function() error({err='A b'}) end) return e`, `local ok, e = pcall(redis.call, 'lpop', 's') return {ok, e}`, `local ok, e = pcall(redis.call, 'lpop', 's') return e.err`, `local ok, e = pcall(redis.call, 'lpop', 's') return type(e)`, `local ok, e = pcall(redis.call, 'get', 's') return {ok, e}`, `local ok, e = pcall(redis.call, 'lpop', 's') error(e)`, `local ok, e = pcall(redis.call, 'lpop', 's') if not ok then return redis.error_reply(e.err) end`, `return xpcall(function() error('x') end, function(e) return 'handled' end)`, `return select('#', pcall(error))`,
		`return undefined`, `undefined = 1`, `KEYS = {}`, `redis = nil`, `redis.call = nil`, `redis.x = 1`, `string.format = nil`, `table.x = 1`, `math.pi = 3`, `return redis.nosuch`, `return redis.nosuch()`, `rawset(_G, 'x', 1)`, `return rawget(_G, 'undefined')`, `setmetatable(_G, {})`, `return type(_G)`, `return _G.undefined`, `local _G = {} return 1`, `return print`, `return os.time()`, `return io`, `return require`, `return dofile`, `return loadfile`, `return debug`, `return newproxy`,
		`return KEYS[1]`, `return #KEYS`, `return ARGV[5]`, `KEYS[1] = 'x' return KEYS[1]`, `return #ARGV`,
		`return redis.sha1hex('')`, `return redis.sha1hex('abc')`, `return redis.sha1hex()`, `return redis.sha1hex(1)`, `return redis.sha1hex('a','b')`, `return redis.log(redis.LOG_NOTICE, 'x')`, `return redis.log('x')`, `return redis.LOG_WARNING`, `return redis.LOG_DEBUG`, `return redis.log(redis.LOG_DEBUG)`, `return redis.replicate_commands()`,
		`math.randomseed(42) return tostring(math.random())`, `math.randomseed(42) return math.random(100)`, `math.randomseed(42) return math.random(50, 60)`, `math.randomseed(7) local t = {} for i = 1, 10 do t[i] = math.random(1000) end return t`, `return math.random(0)`, `return math.random(5, 1)`, `return math.random(1,2,3)`,
		`return math.floor(3.7)`, `return math.ceil(3.2)`, `return math.max(1,5,3)`, `return math.min(4,2)`, `return math.abs(-3)`, `return tostring(math.huge)`, `return math.fmod(7,3)`, `return tostring(math.sqrt(2))`, `return tostring(math.pi)`, `return math.modf(3.7)`, `return math.pow(2,3)`,
		`return string.len('abc')`, `return ('abc'):upper()`, `return string.sub('hello', 2, -2)`, `return string.rep('ab', 3)`, `return string.reverse('abc')`, `return string.find('hello', 'l')`, `return string.match('key:123', '(%d+)')`, `return string.gsub('hello', 'l', 'L')`, `return string.byte('A')`, `return string.char(72, 105)`, `local t = {} for w in string.gmatch('a,b,c', '[^,]+') do t[#t+1] = w end return t`, `return {string.find('a.b', '.', 1, true)}`, `return string.lower('ABC')`, `return {string.match('2024-05', '(%d+)-(%d+)')}`, `return string.gsub('abc', '%w', '%0%0')`, `return string.gsub('abc', '', '-')`, `return ('x'):rep(0)`, `return ('%d'):format(3)`,
		`local t = {3,1,2} table.sort(t) return t`, `local t = {3,1,2} table.sort(t, function(a,b) return a > b end) return t`, `local t = {1,2} table.insert(t, 3) return t`, `local t = {1,2} table.insert(t, 1, 0) return t`, `local t = {1,2,3} return table.remove(t)`, `local t = {1,2,3} table.remove(t, 1) return t`, `return {unpack({1,2,3})}`, `return {unpack({1,2,3}, 2)}`, `return select(2, 'a', 'b')`, `return select('#', 1, nil)`, `return table.getn({1,2})`, `return table.maxn({1,2})`,
		`local t = {} for i = 1, 5 do t[#t+1] = i * i end return t`, `local t = {} for i = 5, 1, -2 do t[#t+1] = i end return t`, `local n = 0 while true do n = n + 1 if n > 10 then break end end return n`, `local n = 0 repeat n = n + 1 until n == 5 return n`, `local t = {} for k, v in pairs({a=1}) do t[#t+1] = k t[#t+1] = v end return t`, `local t = {} for i, v in ipairs({1,2,nil,4}) do t[#t+1] = v end return t`, `local function f(...) return select('#', ...) end return f(1, nil, 3)`, `local function f(n) if n == 0 then return 0 end return f(n - 1) end return f(10000)`, `local a, b = 1 return {a, b == nil}`, `local t = setmetatable({}, {__index = function(t, k) return k .. '!' end}) return t.x`, `do local x = 1 end return type(x)`, `return next({})`, `return rawequal(1, 1)`, `return rawget({5}, 1)`, `return arg`, `local x = [[long]] return x`, `return "\65\n"`, `--[[ comment ]] return 1 -- end`, `return 1,2`, `return (function() return 1, 2 end)()`, `return 0x1F`, `return 5 and nil`, `return false or 'x'`,
		`return type(nil)`, `return type(redis.call)`, `return type(_VERSION)`, `return _VERSION`, `return getmetatable('').__index == string`, `return tostring(setmetatable({}, {__tostring = function() return 'shown' end}))`,
		`this is not Lua`, `return (`, `return 1 +`, `for`, `local function f() return end end`,
		"#!lua\nreturn 1", "#!lua flags=no-writes\nreturn redis.call('get','s')", "#!lua flags=no-writes\nreturn redis.call('set','s','1')", "#!lua flags=bogus\nreturn 1", "#!python\nreturn 1", "#!lua", "#!lua foo=1\nreturn 1", "#!lua flags=no-writes,allow-stale\nreturn redis.pcall('incr','s')", "#!lua\nerror('x')", "#!lua flags=no-writes\nreturn redis.call('publish','c','m')",
		`return cjson.encode({1,2,'x',true})`, `return cjson.encode({a=1})`, `return cjson.encode({})`, `return cjson.encode('a"/\\\n\1')`, `return cjson.encode(cjson.null)`, `return cjson.encode(1/3)`, `return cjson.encode({{a={1}}})`, `return cjson.encode({1,nil,3})`, `return cjson.encode({[100]=1})`, `return cjson.encode(function() end)`, `return cjson.encode(1/0)`, `return cjson.encode({[1.5]=1})`,
		`return cjson.decode('[1,2.5,"x",null,true]')`, `return cjson.decode('{"a":{"b":[1]}}').a.b[1]`, `return cjson.decode('null') == cjson.null`, `return cjson.decode('nonsense')`, `return cjson.decode('[1')`, `return cjson.decode('[1] x')`, `return cjson.decode('')`, `return cjson.encode(cjson.decode('{"k":[1,{"x":null}]}'))`, `return type(cjson.null)`, `cjson.encode = nil`,
		`redis.call('incr','partial') redis.call('lpop','s')`, `redis.call('del','s') return redis.call('exists','s')`,
	} {
		p.script(evaluation{script, "k1", "a1 a2"})
	}
	p.compareDatasets()
}

func TestScriptCommandsAsOnARealServer(t *testing.T) {
	p := newPair(t)
	sum := sha1.Sum([]byte("return 1"))
	sha := hex.EncodeToString(sum[:])
	for _, args := range [][]string{
		{"EVALSHA", sha, "0"}, {"SCRIPT", "LOAD", "return 1"}, {"EVALSHA", sha, "0"}, {"EVALSHA", strings.ToUpper(sha), "0"}, {"SCRIPT", "EXISTS", sha, "nope"},
		{"SCRIPT", "EXISTS", strings.ToUpper(sha)}, {"SCRIPT", "FLUSH", "NOW"}, {"SCRIPT", "FLUSH", "SYNC"}, {"SCRIPT", "EXISTS", sha}, {"EVALSHA", sha, "0"}, {"EVALSHA", "short", "0"},
		{"EVALSHA", "short", "x"}, {"EVALSHA", sha, "x"}, {"EVAL", "return 1", "x"}, {"EVAL", "return 1", "1"}, {"EVAL", "return 1", "-1"}, {"EVAL", "return 1", "0", "a"}, {"EVALSHA", sha, "0"},
		{"EVAL_RO", "return redis.call('get','k')", "0"}, {"EVAL_RO", "return redis.call('set','k','v')", "0"}, {"EVAL_RO", "return redis.call('publish','k','v')", "0"}, {"EVALSHA_RO", sha, "0"},
		{"EVAL_RO", "#!lua\nreturn 1", "0"}, {"EVAL_RO", "#!lua flags=no-writes\nreturn 1", "0"}, {"SCRIPT", "EXISTS"}, {"SCRIPT", "FLUSH", "SYNC", "x"}, {"SCRIPT", "LOAD", "return 1", "x"},
	} {
		p.both(args...)
	}
}
