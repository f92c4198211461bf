// Package protocol is how lockcheck talks with a lock, or with a whole shop,
// that somebody wrote in a language of his own.
//
// A child process reads one JSON object a line from its stdin and writes one a
// line to its stdout. lockcheck says hello, the child says that it is ready;
// from then on lockcheck asks, one request at a time, and the child answers.
// docs/protocol.md has every message.
//
//	→ {"hello":"lockcheck-lock/1","worker":3,…}
//	← {"ready":"my-lock 1.4","can":["extend"]}
//	→ {"id":1,"do":"acquire","key":"stock:sku-2"}
//	← {"id":1,"ok":true,"token":"9f…"}
//
// Start with Session: one life of one child, from its hello to its end. It
// owns no process, no pipe and no clock. A host feeds it the bytes that the
// child wrote and the time, and writes the lines that it makes, so that a
// process in real time and one in virtual time are judged by the same code.
// The messages are in this file (to the child) and in heard.go (from it).
//
// A child is never trusted. What it writes that is no message, or not the
// message that was due, is a Finding with the line quoted, and an answer that
// is in any way wrong counts as unknown: the belief of a confused child must
// not become a double hold.
package protocol

import (
	"encoding/json"
	"fmt"
	"time"
)

// Version is the protocol that this package speaks. A child that does not know
// it ends with an error message of its own.
const Version = "lockcheck-lock/1"

// MaxLine bounds a line in both directions, in bytes without its end.
const MaxLine = 64 << 10

// What a request asks for.
const (
	Acquire = "acquire" // take the lock on Key
	Extend  = "extend"  // renew it
	Release = "release" // give it back
	Sell    = "sell"    // make one whole sale
)

// Hello is the first line that a child reads: who it is and what there is to
// talk to. Addresses are "host:port". Which of them are there depends on the
// topology; a child that needs others says why it ends, and ends.
type Hello struct {
	Hello  string `json:"hello"`  // Version
	Worker int    `json:"worker"` // its number, from 0
	Life   int    `json:"life"`   // how often this worker was killed and started again
	Seed   uint32 `json:"seed"`   // for random numbers of its own, if it likes: differs by worker and life
	TTL    int64  `json:"ttl_ms"` // the lease to ask for
	Wait   int64  `json:"wait_ms"`
	Prefix string `json:"prefix"` // of all its keys in the lock service; "" if it has that to itself

	Redis     []string `json:"redis,omitempty"`     // one server, or several independent ones
	Sentinels []string `json:"sentinels,omitempty"` // of Master; then Redis is absent
	Master    string   `json:"master,omitempty"`
	Cluster   []string `json:"cluster,omitempty"` // seeds of a Redis Cluster
	SQL       string   `json:"sql,omitempty"`     // "mysql://user:password@host:port/database"
	Stock     string   `json:"stock,omitempty"`   // the Redis that has the stock, for a child that sells
}

// Line is the hello as it is sent.
func (h Hello) Line() []byte {
	h.Hello = Version
	return line(h)
}

// Request is what lockcheck asks of a child. A Session numbers it.
type Request struct {
	ID    int64  `json:"id"`
	Do    string `json:"do"`
	Key   string `json:"key"`             // of the lock; of a sell: of the stock
	Token string `json:"token,omitempty"` // extend, release: of the grant, as the child told it

	Lock  string `json:"lock,omitempty"`    // sell: the key to lock
	Qty   int64  `json:"qty,omitempty"`     // sell: units
	Order string `json:"order,omitempty"`   // sell: the id of the order
	Work  int64  `json:"work_ms,omitempty"` // sell: what the business step takes, between reading and writing
}

// patience is how long an honest child may take for a request, besides the
// time that any answer may take.
func (r Request) patience(h Hello) time.Duration {
	switch r.Do {
	case Acquire:
		return millis(h.Wait)
	case Sell:
		return millis(h.Wait + r.Work)
	}
	return 0
}

// String is the request as findings call it.
func (r Request) String() string { return fmt.Sprintf("%s %d", r.Do, r.ID) }

// goOn lets a child that waits at a step go on.
type goOn struct {
	Go string `json:"go"`
	ID int64  `json:"id,omitempty"`
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// line encodes a message, which has no field that cannot be.
func line(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("protocol: %v", err))
	}
	return append(text, '\n')
}
