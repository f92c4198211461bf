package redis

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableOfCommandsAsOnARealServer(t *testing.T) {
	server := StartRealServer(t)
	var check func(rows map[string]*command)
	check = func(rows map[string]*command) {
		for word, row := range rows {
			if word == strings.ToUpper(word) {
				continue // the same row by its other name
			}
			info := server.Do("COMMAND", "INFO", row.name).([]any)[0].([]any)
			flags := map[string]bool{}
			for _, flag := range info[2].([]any) {
				flags[flag.(string)] = true
			}
			arity := int64(row.arity)
			if c, ok := arities[row.name]; ok && server.version.since(c.since) {
				arity = c.arity
			}
			real := map[string]any{"arity": info[1], "write": flags["write"], "loading": flags["loading"], "noscript": flags["noscript"]}
			model := map[string]any{
				"arity": arity, "write": row.flags&write != 0,
				"loading": row.flags&loading != 0, "noscript": row.flags&noScript != 0,
			}
			// Containers have no flags of their own that matter.
			if row.sub != nil {
				check(row.sub)
				model["noscript"] = flags["noscript"]
			}
			if diff := cmp.Diff(real, model); diff != "" {
				t.Errorf("%s (-real +model)\n%s", row.name, diff)
			}
		}
	}
	check(commands)
}

// TestEndOfAKeyAsOnARealServer looks, many times around the end of a key,
// whether it is still there and what the clock says, and asks the model the
// same.
func TestEndOfAKeyAsOnARealServer(t *testing.T) {
	server := StartRealServer(t)
	seen := map[int64]int{} // looks by milliseconds after the end
	for limit := time.Now().Add(30 * time.Second); seen[0] < 3 || seen[1] < 3; {
		if time.Now().After(limit) {
			t.Fatalf("the end itself was not looked at often enough: %v", seen)
		}
		end := time.Now().UnixMilli() + 8
		set := []string{"SET", "k", "v", "PXAT", strconv.FormatInt(end, 10)}
		server.Do(set...)
		for ms := int64(0); ms < end+3; {
			looks := server.Pipeline([]string{"TIME"}, []string{"EXISTS", "k"}, []string{"PTTL", "k"}, []string{"TIME"})
			ms = milliseconds(t, looks[3])
			if milliseconds(t, looks[0]) != ms {
				continue // the time of what is in between is not known
			}
			seen[ms-end]++
			model := New()
			model.Do(time.UnixMilli(end-8), Master, set)
			got := []any{
				model.Do(time.UnixMilli(ms), Master, []string{"EXISTS", "k"}).Reply,
				model.Do(time.UnixMilli(ms), Master, []string{"PTTL", "k"}).Reply,
			}
			if diff := cmp.Diff(looks[1:3], got); diff != "" {
				t.Fatalf("%d ms after its end (-real +model)\n%s", ms-end, diff)
			}
		}
	}
}

// milliseconds reads a reply of TIME.
func milliseconds(t *testing.T, reply any) int64 {
	t.Helper()
	words := reply.([]any)
	s, err := strconv.ParseInt(words[0].(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	micros, err := strconv.ParseInt(words[1].(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return s*1000 + micros/1000
}

// replicas is a master and a replica, of the model and real.
type replicas struct {
	t             *testing.T
	master        *pair
	replica       *pair
	realLink      *RealServer
	replicaServer *RealServer
}

func newReplicas(t *testing.T) *replicas {
	masterServer, replicaServer := StartRealServer(t), StartRealServer(t)
	r := &replicas{
		t:             t,
		master:        &pair{t: t, model: New(), real: masterServer.RealConn},
		replica:       &pair{t: t, model: New(), mode: Replica, real: replicaServer.RealConn},
		realLink:      masterServer,
		replicaServer: replicaServer,
	}
	host, port, _ := net.SplitHostPort(masterServer.Addr)
	replicaServer.Do("REPLICAOF", host, port)
	Await(t, "the replica to be in step", func() bool {
		return strings.Contains(replicaServer.Do("INFO", "replication").(string), "master_link_status:up")
	})
	return r
}

// write writes on both masters and waits until both replicas have it.
func (r *replicas) write(args ...string) {
	r.t.Helper()
	now := time.Now()
	real := r.master.real.Do(args...)
	result := r.master.model.Do(now, Master, args)
	if diff := r.master.real.version.difference(args, real, result.Reply); diff != "" {
		r.t.Errorf("%s on the master (-real +model)\n%s", quote(args), diff)
	}
	for _, effect := range result.Effects {
		r.replica.model.Apply(now, effect)
	}
	if reply := r.master.real.Do("WAIT", "1", "5000"); reply != int64(1) {
		r.t.Fatalf("the replica does not follow: WAIT answered %v", reply)
	}
}

func TestReplicaAsARealOne(t *testing.T) {
	r := newReplicas(t)
	const readAndWrite = `local v = redis.call('get', KEYS[1]) redis.call('set', KEYS[1], 'x') return v`
	for _, line := range []string{
		"SET k v", "SET gone v PXAT 1", "SET later v PXAT 99999999999999", "HSET h f 1", "RPUSH l a b", "SADD s m", "ZADD z 1 m",
		"HSET old f 1", "SET n 5",
	} {
		r.write(split(line)...)
	}
	for _, line := range []string{
		"GET k", "GET gone", "EXISTS gone k", "TTL gone", "PTTL gone", "TYPE gone", "STRLEN gone", "MGET gone k", "DBSIZE", "KEYS *", "SCAN 0", "DBSIZE", "PEXPIRETIME gone", "PEXPIRETIME later",
		"HGETALL h", "LRANGE l 0 -1", "SMEMBERS s", "ZRANGE z 0 -1",
		"SET k v", "SET k", "NOSUCH", "DEL gone", "DEL none", "INCR n", "EXPIRE k 100", "HSET k f v", "LPUSH l x", "FLUSHALL", "GETDEL k", "GETEX k",
		"PING", "ECHO x", "PUBLISH c m", "SCRIPT EXISTS x", "SELECT 0",
	} {
		r.replica.both(split(line)...)
	}
	for _, e := range []evaluation{
		{`return redis.call('get', KEYS[1])`, "k", ""}, {`return redis.call('get', KEYS[1])`, "gone", ""}, {readAndWrite, "k", ""}, {`return redis.pcall('set', KEYS[1], 'x')`, "k", ""}, {compareAndDelete, "k", "v"}, {compareAndDelete, "k", "other"}, {compareAndDelete, "gone", "v"},
		{fencedAcquire, "lock fence", "me 100000"}, {"#!lua\nreturn 1", "k", ""}, {"#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])", "k", ""}, {`return redis.call('publish', 'c', 'm')`, "", ""},
	} {
		r.replica.script(e)
	}
	r.write("GET", "gone") // now the master deletes it, and says so
	r.replica.both("DBSIZE")
	r.write("DEL", "k")
	r.replica.both("GET", "k")
	r.write("EVAL", "redis.call('set', 'a', '1') redis.call('expire', 'a', 1000) return redis.call('incr', 'n')", "0")
	r.replica.both("GET", "n")
	r.replica.both("TTL", "a")
	r.replica.compareDatasets()
}

func TestPromotedReplicaAsARealOne(t *testing.T) {
	r := newReplicas(t)
	r.write("SET", "gone", "v", "PXAT", "1")
	r.write("SET", "lock", "me", "PX", "100000")
	r.write("SCRIPT", "LOAD", "return 1")
	r.replica.both("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0") // scripts are not replicated
	r.replica.real.Do("REPLICAOF", "NO", "ONE")
	r.replica.mode = Master
	for _, line := range []string{"DBSIZE", "GET gone", "DBSIZE", "SET lock other NX", "TTL lock", "SET gone w NX", "INCR fence"} {
		r.replica.both(split(line)...)
	}
	r.replica.compareDatasets()
}

func TestFullResyncKeepsTheScriptsOfAReplicaAsOnARealServer(t *testing.T) {
	master, replica := StartRealServer(t), StartRealServer(t)
	modelMaster, modelReplica := New(), New()
	load := []string{"SCRIPT", "LOAD", "return 1"}
	replica.Do(load...)
	modelReplica.Do(time.Now(), Master, load)
	modelReplica.Do(time.Now(), Master, []string{"SET", "own", "lost"})
	replica.Do("SET", "own", "lost")
	master.Do("SET", "k", "v")
	modelMaster.Do(time.Now(), Master, []string{"SET", "k", "v"})

	host, port, _ := net.SplitHostPort(master.Addr)
	replica.Do("REPLICAOF", host, port)
	Await(t, "the replica to be in step", func() bool { return replica.Do("GET", "k") == "v" })
	modelReplica.Restore(modelMaster)

	p := &pair{t: t, model: modelReplica, mode: Replica, real: replica.RealConn}
	p.both("GET", "own")
	p.both("GET", "k")
	p.both("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0")
}

func TestLoadingAsOnARealServer(t *testing.T) {
	dir := t.TempDir()
	before := StartRealServer(t, "--dir", dir)
	before.Do("DEBUG", "POPULATE", "1000", "key", "1000")
	if reply := before.Do("SAVE"); reply != "OK" {
		t.Fatal(reply)
	}
	// Loads for five seconds, and answers between two keys.
	server := launch(t, "--dir", dir, "--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")
	p := &pair{t: t, model: New(), mode: Loading, real: server.RealConn}
	for _, line := range []string{
		"GET k", "SET k v", "PING", "ECHO x", "SELECT 0", "EVAL 'return 1' 0", "EVALSHA x 0", "SCRIPT EXISTS x", "PUBLISH c m", "TTL k", "NOSUCH", "GET", "DBSIZE", "TIME",
	} {
		p.both(split(line)...)
	}
}
