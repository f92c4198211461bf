// Package redis is the model of one Redis server's keyspace: what one server
// replies to one command at one instant, and what it tells its replicas.
//
// It follows Redis 7.0, in replies, wording of errors, expiry, replication
// of effects and Lua scripts, for the commands that locks use (see the table in
// command.go). The catalogue's designs need strings, hashes, lists and scripts.
// Sorted sets, sets and cjson are here for locks from outside: fair queues keep
// who waits in a list or by score, semaphores their holders in a set, and Lua
// libraries pass records as JSON. What no lock wants is not: streams, bits,
// geography. The package's tests run the same commands here and on a real
// redis-server and compare.
//
// Not here: time (each call is told what the server's wall clock says),
// connections, transactions, blocking, replication links, WAIT, failover.
// They belong to the nodes of cluster/sim, which own one Keyspace each.
//
// Everything is deterministic: the same calls give the same results. Where
// real Redis answers in the order of its hash tables, the model answers in
// the order of insertion, or sorted (KEYS, SCAN).
//
// Start with Keyspace and its method Do.
package redis

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Keyspace is what one Redis server remembers: keys, values, when they
// expire, and the scripts that it has seen. Make one with New. A Keyspace
// must not be used by two goroutines at once.
type Keyspace struct {
	entries map[string]*entry
	scripts map[string]*script // by SHA
	vm      *vm                // runs scripts; nil until the first

	table map[string]*command

	// Of the command that runs at the moment.
	now       time.Time
	ms        int64 // now, as milliseconds since 1970
	mode      Mode
	running   running // the script that runs, if one does
	touched   bool    // the command changed something
	rewritten bool    // the command has told its effects itself
	effects   [][]string
	published []Message
}

// entry is one key's value and its end.
type entry struct {
	value    value
	expireAt int64 // milliseconds since 1970; 0: never
}

// value is text, *list, *hash, *set or *zset.
type value interface {
	// kind is the value's name in the reply of TYPE.
	kind() string
	// size is how many items it has, 0 if it is nil.
	size() int
	clone() value
}

// Error is an error reply, as the server words it.
type Error string

func (e Error) Error() string { return string(e) }

// Message is one published message.
type Message struct{ Channel, Payload string }

// Result is what one command did.
type Result struct {
	// Reply is nil (a null reply), int64, string, Error or []any of these.
	Reply any
	// Status: the reply is a simple string ("+OK"), not a bulk string.
	Status bool
	// Effects are the commands that a master sends to its replicas, in
	// order; they belong together. Empty if nothing changed. PUBLISH is
	// among them, as on the real server: it changes nothing, but a replica
	// passes the message on to its own subscribers.
	Effects [][]string
	// Published are the messages for this server's subscribers.
	Published []Message
}

// Mode is the role in which a server executes a command.
type Mode int

// The modes of a server.
const (
	Master  Mode = iota // writes, and deletes what has expired
	Replica             // refuses writes, hides what has expired
	Loading             // refuses nearly everything

	// applying is a replica executing its master's stream: nothing expires.
	applying
)

// status is a status reply on its way out: scripts see it as {ok=…}, clients
// of Do as a string.
type status string

const ok status = "OK"

// New makes an empty keyspace.
func New() *Keyspace {
	return &Keyspace{
		entries: map[string]*entry{},
		scripts: map[string]*script{},
		table:   commands,
	}
}

// Do executes one command as a client sends it: the name, then arguments.
// now is the server's own wall clock. The keyspace keeps no reference to
// args.
func (k *Keyspace) Do(now time.Time, mode Mode, args []string) Result {
	k.begin(now, mode)
	reply := k.execute(args)
	_, simple := reply.(status)
	result := Result{Reply: plain(reply), Status: simple, Effects: k.effects, Published: k.published}
	k.effects, k.published = nil, nil
	return result
}

// Apply executes one command of the master's stream on a replica, or of an
// append-only file on a server that loads it. Effects of a master of this
// package never fail; an effect that does is a broken invariant.
func (k *Keyspace) Apply(now time.Time, effect []string) {
	k.begin(now, applying)
	if bad, isError := k.execute(effect).(Error); isError {
		panic("redis: effect " + effect[0] + " refused: " + string(bad))
	}
	k.published = nil
}

func (k *Keyspace) begin(now time.Time, mode Mode) {
	k.now, k.ms, k.mode = now, now.UnixMilli(), mode
}

// Clone copies the dataset, as for a full resync or a snapshot on disk.
// Scripts are not part of it: a server that starts from a snapshot has to be
// told them again.
func (k *Keyspace) Clone() *Keyspace {
	c := New()
	c.Restore(k)
	return c
}

// Restore replaces the dataset by a copy of from's, as a replica does in a
// full resync. The scripts that k has seen stay.
func (k *Keyspace) Restore(from *Keyspace) {
	k.entries = make(map[string]*entry, len(from.entries))
	for key, e := range from.entries {
		k.entries[key] = &entry{value: e.value.clone(), expireAt: e.expireAt}
	}
}

// Evict removes n random keys, as a master under memory pressure does with
// maxmemory-policy allkeys-random, and answers their names: each is to be
// propagated as DEL.
func (k *Keyspace) Evict(r *rand.Rand, n int) []string {
	keys := k.sortedKeys()
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:min(n, len(keys))]
	for _, key := range keys {
		delete(k.entries, key)
	}
	return keys
}

// Expire deletes everything that has expired, as the active expiry of a
// master does in the background, and answers the effects.
func (k *Keyspace) Expire(now time.Time) [][]string {
	k.begin(now, Master)
	for _, key := range k.sortedKeys() {
		k.find(key)
	}
	effects := k.effects
	k.effects = nil
	return effects
}

// Len is the number of keys, those that have expired but are not deleted
// yet among them.
func (k *Keyspace) Len() int { return len(k.entries) }

// Names are the keys, sorted, those that have expired but are not deleted yet
// among them.
func (k *Keyspace) Names() []string { return k.sortedKeys() }

// Expiring reports whether some key has a TTL.
func (k *Keyspace) Expiring() bool {
	for _, e := range k.entries {
		if e.expireAt != 0 {
			return true
		}
	}
	return false
}

func (k *Keyspace) sortedKeys() []string {
	keys := make([]string, 0, len(k.entries))
	for key := range k.entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// find answers the entry of key as the running command may see it, or nil.
// A master deletes an expired key when it comes across it; a replica hides
// it and waits for its master's DEL.
func (k *Keyspace) find(key string) *entry {
	e := k.entries[key]
	if e == nil || !k.expired(e) {
		return e
	}
	if k.mode == Master {
		delete(k.entries, key)
		k.effects = append(k.effects, []string{"DEL", key})
	}
	return nil
}

// expired: at the very millisecond of its end a key still lives.
func (k *Keyspace) expired(e *entry) bool {
	return e.expireAt != 0 && k.ms > e.expireAt && k.mode != applying
}

// put sets the value of key and its end.
func (k *Keyspace) put(key string, v value, expireAt int64) {
	if e := k.entries[key]; e != nil {
		e.value, e.expireAt = v, expireAt
	} else {
		k.entries[key] = &entry{value: v, expireAt: expireAt}
	}
}

// lookup answers the value of key if it has the type of V. Without the key
// it answers the zero V; of another type, WRONGTYPE.
func lookup[V value](k *Keyspace, key string) (v V, bad any) {
	e := k.find(key)
	if e == nil {
		return v, nil
	}
	v, same := e.value.(V)
	if !same {
		return v, wrongType
	}
	return v, nil
}

// size answers how many items the value of key has: 0 without the key.
func size[V value](k *Keyspace, args []string) any {
	v, bad := lookup[V](k, args[1])
	if bad != nil {
		return bad
	}
	return count(v.size())
}

// propagate tells the replicas a command in place of the one that runs.
func (k *Keyspace) propagate(effect ...string) {
	if k.mode != applying {
		k.effects = append(k.effects, effect)
	}
	k.rewritten = true
}

// plain makes a reply what clients of Do see.
func plain(reply any) any {
	switch r := reply.(type) {
	case status:
		return string(r)
	case []any:
		for i := range r {
			r[i] = plain(r[i])
		}
		return r
	}
	return reply
}
