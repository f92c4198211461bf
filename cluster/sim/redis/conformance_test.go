package redis

import (
	"testing"
)

// sequences of commands that are told the model and a real server. Replies
// must be equal, errors word by word.
var sequences = map[string][]string{
	"connection commands": {
		"PING", "PING hello", "PING a b", "ECHO hi", "ECHO", "TIME", "TIME 1", "SELECT 0", "SELECT x", "SELECT 99",
		"PUBLISH channel message", "PUBLISH channel",
	},
	"unknown commands and wrong arity": {
		"FOO", "FOO a b", "foo 'a b' ''", "GET", "GET a b", "get", "SET k", "MSET a", "MSET a 1 b", "DEL", "HSET k f", "HSET k f v g",
		"SCRIPT", "SCRIPT FOO", "SCRIPT LOAD", "script load", "INCR", "EXPIRE k", "EVAL", "EVAL x",
		"NOSUCHCOMMANDBUTLONG aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb cccccccccccccccccccccccccccccccccccccccc dddddddddd eeeee",
	},
	"SET and its options": {
		"SET k v", "GET k", "SET k w NX", "GET k", "SET n v XX", "GET n", "SET n v NX", "SET k v NX XX", "SET k v XX NX", "SET k v EX",
		"SET k v EX 10 PX 10", "SET k v EX 10 EX 20", "TTL k", "SET k v KEEPTTL", "TTL k", "SET k v KEEPTTL EX 1", "SET k v EX 1 KEEPTTL",
		"SET k v EX 0", "SET k v PX -1", "SET k v EX x", "SET k v EX 9223372036854775807", "SET k v PX 9223372036854775807",
		"SET k v EX 9223372036854775", "SET k v PXAT 0", "SET k v EXAT -5", "SET k v GET", "SET k v2 GET EX 100", "SET k v3 NX GET", "GET k",
		"SET new v NX GET", "GET new", "SET none v XX GET", "GET none", "set k v px 100000 nx", "TTL k", "SET k v BOGUS", "SET k v PERSIST",
		"SET k v get get", "SADD s a", "SET s v GET", "SET s v", "GET s", "SET k v NX PX 0", "SET k v EX 1.5", "SET k v EX ' 5'", "SET k v EX 05",
	},
	"SET with an end in the past": {
		"SET k v PXAT 1", "GET k", "EXISTS k", "SET k v EXAT 1", "SET k v NX", "GET k", "TTL k",
		"SET k v PXAT 1", "SET k v XX", "SET k v PXAT 1", "SET k v GET", "SET k v PXAT 1", "SET k w KEEPTTL", "TTL k",
		"SET k v PXAT 1", "DEL k", "SET k v PXAT 1", "INCR k", "TTL k", "SET k v PXAT 1", "DBSIZE", "KEYS *", "DBSIZE", "SCAN 0", "DBSIZE",
	},
	"other commands on strings": {
		"GETSET k a", "GETSET k b", "GET k", "SETNX k c", "SETNX j c", "SETEX k 100 v", "TTL k", "SETEX k 0 v", "SETEX k x v", "PSETEX k 100000 v",
		"PSETEX k -1 v", "TTL k", "GETSET k x", "TTL k", "GETDEL k", "GETDEL k", "MSET a 1 b 2 a 3", "MGET a b c", "MGET a", "APPEND a xx", "APPEND n yy",
		"GET n", "STRLEN n", "STRLEN none", "LPUSH l x", "GET l", "GETSET l v", "GETDEL l", "MGET l a", "APPEND l x", "STRLEN l", "SETNX l x", "GETEX l",
		"MSETNX l s", "MSETNX n1 a n2 b", "MSETNX n2 x n3 y", "GET n3", "MSETNX a", "MSETNX a b c", "GETRANGE n1 0", "SET long hello", "GETRANGE long 1 3", "GETRANGE long -3 -1", "GETRANGE long -9 -5", "GETRANGE long 3 1", "GETRANGE long -1 -3", "GETRANGE long 2 99", "GETRANGE long a 1", "GETRANGE gone 0 -1", "MSET l s", "GET l", "SET k v EX 100", "APPEND k v", "TTL k",
	},
	"GETEX": {
		"SET k v", "GETEX k", "GETEX k EX 100", "TTL k", "GETEX k PERSIST", "TTL k", "GETEX k PERSIST", "GETEX none EX 10", "GETEX k EX 0", "GETEX k EX x",
		"GETEX none EX x", "GETEX k KEEPTTL", "GETEX k NX", "GETEX k EX 10 PERSIST", "GETEX k PXAT 5", "GET k", "SET k v", "GETEX k EXAT 99999999999", "TTL k",
	},
	"INCR and overflow": {
		"INCR k", "INCRBY k 10", "DECR k", "DECRBY k 20", "GET k", "INCRBY k 9223372036854775807", "INCRBY k 9223372036854775807", "INCRBY k x",
		"INCRBY k 9223372036854775808", "DECRBY k -9223372036854775808", "SET k abc", "INCR k", "SET k ' 1'", "INCR k", "SET k 01", "INCR k", "SET k +1", "INCR k",
		"SET k -0", "INCR k", "SET k ''", "INCR k", "SET k -9223372036854775808", "DECR k", "INCR k", "SET k 9223372036854775807", "INCR k", "SET k 10 EX 100", "INCR k", "TTL k",
		"SET k 1.0", "INCR k", "LPUSH l 1", "INCR l", "INCRBY l x", "DECRBY k 9223372036854775807",
	},
	"keys": {
		"DEL a b", "SET a 1", "SET b 2", "EXISTS a b a c", "DEL a c", "UNLINK b a", "TYPE a", "SET s v", "HSET h f v", "RPUSH l x", "SADD t m", "ZADD z 1 m",
		"TYPE s", "TYPE h", "TYPE l", "TYPE t", "TYPE z", "TYPE x", "KEYS *", "KEYS [st]", "KEYS ?", "KEYS s*", "KEYS [^s]", "KEYS [a-m]", "KEYS \\s", "KEYS [", "KEYS [s",
		"SCAN 0", "SCAN 0 MATCH [sh]", "SCAN 0 COUNT 100", "SCAN 0 TYPE hash COUNT 100", "SCAN 0 COUNT 0", "SCAN 0 COUNT x", "SCAN x", "SCAN 0 FOO 1", "SCAN 0 MATCH",
		"DBSIZE", "FLUSHDB ASYNC", "DBSIZE", "SET a 1", "FLUSHALL SYNC", "FLUSHALL NOW", "FLUSHALL", "DBSIZE", "KEYS *", "EXISTS",
	},
	"EXPIRE and its options": {
		"EXPIRE none 10", "SET k v", "EXPIRE k 100", "TTL k", "EXPIRE k 50 GT", "EXPIRE k 200 GT", "EXPIRE k 300 LT", "EXPIRE k 100 LT", "EXPIRE k 10 NX", "PERSIST k",
		"PERSIST k", "PERSIST none", "TTL k", "PTTL k", "TTL none", "EXPIRE k 10 XX", "EXPIRE k 10 GT", "EXPIRE k 100 LT", "TTL k", "EXPIRE k 200 NX XX", "EXPIRE k 1 GT LT", "EXPIRE k 1 NX GT",
		"EXPIRE k 1000 XX GT", "EXPIRE k 1 FOO", "EXPIRE k x", "EXPIRE k x FOO", "EXPIRE k 9223372036854775807", "EXPIRE k -9223372036854775808", "PEXPIRE k 9223372036854775807",
		"PEXPIRE k 100000", "PTTL k", "PEXPIREAT k 99999999999999", "PEXPIRETIME k", "EXPIRETIME k", "EXPIREAT k 99999999999", "EXPIRETIME k", "PEXPIRETIME none", "EXPIRETIME none",
	},
	"an end in the past deletes": {
		"SET k v", "EXPIRE k 0", "EXISTS k", "SET k v", "EXPIRE k -1", "EXISTS k", "SET k v", "PEXPIREAT k 1", "EXISTS k", "SET k v", "EXPIREAT k 1", "DBSIZE",
		"SET k v EX 100", "EXPIRE k -1 GT", "TTL k", "EXPIRE k -1 LT", "EXISTS k", "SET k v", "PEXPIRE k -1 NX", "EXISTS k", "SET k v", "PEXPIREAT k -1", "GET k",
		"HSET h f v", "EXPIRE h 0", "HGET h f",
	},
	"hashes": {
		"HSET h a 1 b 2", "HSET h a 3 c 4", "HGET h a", "HGET h z", "HGET none a", "HMGET h a z b", "HMGET none a", "HGETALL h", "HGETALL none", "HDEL h a z", "HEXISTS h a",
		"HEXISTS h b", "HLEN h", "HLEN none", "HINCRBY h n 5", "HINCRBY h n -10", "HINCRBY h b x", "HSET h s text", "HINCRBY h s 1", "HSET h m 9223372036854775807", "HINCRBY h m 1",
		"HSETNX h b 9", "HSETNX h new 9", "HSETNX fresh f v", "HDEL fresh f", "EXISTS fresh", "HINCRBY fresh f 1", "HDEL none f", "SET s v", "HSET s f v", "HGET s f", "HDEL s f", "HGETALL s",
		"HINCRBY s f 1", "HLEN s", "HEXISTS s f", "HMGET s f", "HSETNX s f v", "HGETALL h", "EXPIRE h 100", "HSET h x y", "TTL h",
		"HSET big f0 0 f1 1 f2 2 f3 3 f4 4 f5 5 f6 6 f7 7 f8 8 f9 9 f10 10", "HDEL big f3 f9", "HSET big f3 again", "HGETALL big", "HGET big f10", "HLEN big",
	},
	"lists": {
		"RPUSH l a b c", "LPUSH l x y", "LRANGE l 0 -1", "LLEN l", "LLEN none", "LRANGE l 1 2", "LRANGE l -2 -1", "LRANGE l 5 10", "LRANGE l -100 100", "LRANGE l 2 1", "LRANGE none 0 1", "LRANGE l x 1",
		"LINDEX l 0", "LINDEX l -1", "LINDEX l 9", "LINDEX l -9", "LINDEX l x", "LINDEX none x", "LPOP l", "RPOP l", "LPOP none", "RPOP none 3", "LPOP l 0", "LPOP l -1", "LPOP l x", "LPOP l 2 3", "LPOP l 2", "LPOP l 9", "EXISTS l",
		"LPOP none 0", "RPUSH l a b a c a", "LREM l 1 a", "LRANGE l 0 -1", "LREM l -1 a", "LRANGE l 0 -1", "LREM l 0 a", "LREM l x a", "LREM none 0 a", "LRANGE l 0 -1", "LREM l 0 b", "LREM l 0 c", "EXISTS l",
		"RPUSH l 1 2 3", "RPOP l 2", "RPUSH l 4 5", "RPOPLPUSH l m", "LRANGE m 0 -1", "RPOPLPUSH none m", "RPOPLPUSH l l", "LRANGE l 0 -1", "LMOVE l m LEFT RIGHT", "LMOVE l m LEFT x", "LMOVE l m right left", "LRANGE m 0 -1",
		"RPOPLPUSH l m", "EXISTS l", "SET s v", "RPUSH s x", "LPOP s", "LLEN s", "LRANGE s 0 1", "LINDEX s 0", "LREM s 0 a", "RPOPLPUSH s m", "RPOPLPUSH m s", "LRANGE m 0 -1", "LPUSH m", "RPUSH one x", "RPOPLPUSH one one", "LMOVE one one LEFT LEFT",
	},
	"sets": {
		"SADD s a b a", "SADD s b c", "SCARD s", "SISMEMBER s a", "SISMEMBER s z", "SMEMBERS s", "SMEMBERS none", "SREM s a z", "SREM s b c", "EXISTS s", "SCARD none", "SISMEMBER none a", "SREM none a",
		"SADD n 3 1 2", "SMEMBERS n", "SET t v", "SADD t a", "SREM t a", "SCARD t", "SMEMBERS t", "SISMEMBER t a",
	},
	"sorted sets": {
		"ZADD z 1 a 2 b", "ZADD z 3 a", "ZADD z CH 4 a 2 b 5 c", "ZRANGE z 0 -1 WITHSCORES", "ZADD z NX 9 a 9 d", "ZADD z XX 1 a 1 e", "ZADD z GT 0 a", "ZADD z GT CH 8 a", "ZADD z LT CH 1 a", "ZADD z INCR 2.5 a", "ZADD z NX INCR 1 a", "ZADD z XX INCR 1 none",
		"ZADD z NX XX 1 a", "ZADD z GT LT 1 a", "ZADD z NX GT 1 a", "ZADD z INCR 1 a 2 b", "ZADD z 1", "ZADD z x a", "ZADD z nan a", "ZADD z 1 a 2", "ZADD none XX 1 a", "ZADD none XX INCR 1 a", "EXISTS none",
		"ZSCORE z a", "ZSCORE z none", "ZSCORE none a", "ZCARD z", "ZCARD none", "ZRANK z a", "ZRANK z none", "ZRANK none a", "ZRANGE z 0 -1", "ZRANGE z 0 -1 REV", "ZRANGE z 1 2 WITHSCORES", "ZRANGE z -2 -1", "ZRANGE z 5 9", "ZRANGE z x 1", "ZRANGE none 0 1",
		"ZRANGE z 2 5 BYSCORE", "ZRANGE z 5 2 BYSCORE REV", "ZRANGE z 0 9 BYSCORE LIMIT 1 2", "ZRANGE z 0 1 LIMIT 0 1", "ZRANGE z 0 9 BYSCORE LIMIT 0 x", "ZRANGE z 0 9 FOO",
		"ZRANGEBYSCORE z -inf +inf", "ZRANGEBYSCORE z (2 5 WITHSCORES", "ZRANGEBYSCORE z 2 (5", "ZRANGEBYSCORE z -inf inf LIMIT 1 1", "ZRANGEBYSCORE z -inf inf LIMIT -1 1", "ZRANGEBYSCORE z 0 100 LIMIT 1 -1", "ZRANGEBYSCORE z x 1", "ZRANGEBYSCORE none 0 1", "ZRANGEBYSCORE z 0 1 REV", "ZRANGEBYSCORE z 5 1",
		"ZREM z a none", "ZREM none a", "ZREMRANGEBYSCORE z 2 2", "ZREMRANGEBYSCORE z x 2", "ZREMRANGEBYSCORE none 0 1", "ZRANGE z 0 -1 WITHSCORES", "ZREMRANGEBYSCORE z -inf inf", "EXISTS z",
		"ZADD f 0.1 a 1e20 b -0 c 3.0 d inf e -inf g 123456789012345678 h 1.5e-7 i", "ZRANGE f 0 -1 WITHSCORES", "ZADD f INCR -inf e", "ZADD f INCR inf a", "ZADD tie 1 c 1 a 1 b", "ZRANGE tie 0 -1",
		"SET s v", "ZADD s 1 a", "ZREM s a", "ZSCORE s a", "ZRANGE s 0 1", "ZCARD s", "ZRANK s a", "ZREMRANGEBYSCORE s 0 1", "ZRANGEBYSCORE s 0 1",
	},
}

func TestSequencesAsOnARealServer(t *testing.T) {
	server := StartRealServer(t)
	for name, lines := range sequences {
		t.Run(name, func(t *testing.T) {
			p := &pair{t: t, model: New(), real: server.Dial(t)}
			p.real.Do("FLUSHALL")
			for _, line := range lines {
				p.both(split(line)...)
			}
			p.compareDatasets()
		})
	}
}
