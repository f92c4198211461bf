//go:build unix

package process

import (
	"encoding/json"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/workload/env"
)

// What lockcheck and a worker process say to each other, one line each.
//
//	stdin    hello, then control after control; its end is the worker's end
//	stdout   events as they are in a history (a line that begins with {),
//	         and notes (a line that begins with !)
//
// A control is the whole wished-for state, not a change of it: it can be sent
// again, and a worker that was frozen catches up with the last one.

// Hello is the first line that a worker process reads.
type Hello struct {
	Run         string          `json:"run"`
	Start       int64           `json:"start"` // of the run, by CLOCK_MONOTONIC, ns
	Seed        uint64          `json:"seed"`
	Host        string          `json:"host"`
	Workers     []int           `json:"workers"` // the numbers of the workers that it runs
	Life        int             `json:"life"`    // how often they were killed and started again
	Spec        json.RawMessage `json:"spec"`
	CallTimeout time.Duration   `json:"call-timeout"`
	Servers     Servers         `json:"servers"`
	Control     Control         `json:"control"`
	Own         *cluster.Own    `json:"own,omitempty"` // the program beside each worker
}

// Servers are what there is to talk to.
type Servers struct {
	Lock      env.Kind   `json:"lock"`
	Redis     []Endpoint `json:"redis,omitempty"`
	Sentinels []Endpoint `json:"sentinels,omitempty"`
	Stock     *Endpoint  `json:"stock,omitempty"`
	SQL       *Endpoint  `json:"sql,omitempty"`
	Queue     *Endpoint  `json:"queue,omitempty"`
	Password  string     `json:"password,omitempty"` // of SQL and the queue
}

// Endpoint is one server.
type Endpoint struct {
	Name string `json:"name"`
	Addr string `json:"addr"` // in the private network: what servers announce
	Dial string `json:"dial"` // where this host reaches it
}

// Control is what a worker process is to be like from now on.
type Control struct {
	Seq      int64          `json:"seq"`
	Phase    env.Phase      `json:"phase"`
	Links    map[string]Cut `json:"links,omitempty"` // by name of server
	Clock    ClockShift     `json:"clock"`
	Frozen   []int          `json:"frozen,omitempty"` // workers whose periodic tasks stand still
	Still    []int          `json:"still,omitempty"`  // workers of whom all else stands still
	Ambushes []Ambush       `json:"ambushes,omitempty"`
}

// Cut is what is wrong with the link to one server, as seen by the worker.
type Cut struct {
	Out     bool    `json:"out,omitempty"`      // what is sent does not arrive
	In      bool    `json:"in,omitempty"`       // what is answered does not arrive
	LossOut float64 `json:"loss-out,omitempty"` // the share of requests that get lost
	LossIn  float64 `json:"loss-in,omitempty"`  // the share of replies that get lost
}

// Without is a cut less what is mended of it.
func (a Cut) Without(mended Cut) Cut {
	if mended.Out {
		a.Out, a.LossOut = false, 0
	}
	if mended.In {
		a.In, a.LossIn = false, 0
	}
	return a
}

// And joins two states of one link.
func (a Cut) And(b Cut) Cut {
	return Cut{Out: a.Out || b.Out, In: a.In || b.In, LossOut: max(a.LossOut, b.LossOut), LossIn: max(a.LossIn, b.LossIn)}
}

// ClockShift is how far a wall clock is off: Offset, and Drift of the time
// since Since.
type ClockShift struct {
	Offset time.Duration `json:"offset,omitempty"`
	Drift  float64       `json:"drift,omitempty"`
	Since  time.Duration `json:"since,omitempty"` // in the run
}

// At is the shift at a moment of the run.
func (c ClockShift) At(now time.Duration) time.Duration {
	return c.Offset + time.Duration(c.Drift*float64(now-c.Since))
}

// Ambush is a fault that waits for a worker to reach a step.
type Ambush struct {
	ID     int64         `json:"id"`
	Worker int           `json:"worker"`
	Step   string        `json:"step"`
	F      string        `json:"f"`             // crash, pause, loss (all once) or delay (each time)
	For    time.Duration `json:"for,omitempty"` // delay
}

// Note is what a worker process says besides events.
type Note struct {
	Ack   int64         `json:"ack,omitempty"`   // this control is in force
	Wall  time.Duration `json:"wall,omitempty"`  // with an ack: how far its wall clock is off now
	Hit   int64         `json:"hit,omitempty"`   // this ambush was run into
	At    time.Duration `json:"at,omitempty"`    // with a hit: when
	Found string        `json:"found,omitempty"` // what is wrong with a program beside a worker
	Text  string        `json:"text,omitempty"`  // with a hit: what happened, if that is not plain

	// With an ack: the servers behind cut links that were tried and did not
	// answer, and how many packets lossy links have lost since the start.
	Unreachable []string `json:"unreachable,omitempty"`
	Lost        int64    `json:"lost,omitempty"`
}
