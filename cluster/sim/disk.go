package sim

import (
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// disk is what a server finds again when it starts: an append-only file.
//
// A killed process loses nothing that it has written, synced or not: the
// kernel has it. Only a machine that goes down loses what was not synced.
type disk struct {
	mode string // "none" (or empty), "everysec", "always"
	keys *redis.Keyspace
	tail []record // after keys, oldest first
}

// record is what one command changed.
type record struct {
	at      time.Duration
	wall    time.Time
	effects [][]string
}

// tailLimit is how long the tail grows before it is put into keys.
const tailLimit = 1000

func (d *disk) off() bool { return d.mode == "" || d.mode == "none" }

func (d *disk) append(now time.Duration, wall time.Time, effects [][]string) {
	if d.off() {
		return
	}
	d.tail = append(d.tail, record{now, wall, effects})
	if len(d.tail) > tailLimit {
		d.settle(d.synced(now))
	}
}

// synced is the moment up to which everything is safe even if the machine
// goes down.
func (d *disk) synced(now time.Duration) time.Duration {
	if d.mode == "always" {
		return now
	}
	return now.Truncate(time.Second)
}

// settle puts the records up to the moment until into keys.
func (d *disk) settle(until time.Duration) {
	if d.keys == nil {
		d.keys = redis.New()
	}
	n := 0
	for ; n < len(d.tail) && d.tail[n].at <= until; n++ {
		for _, effect := range d.tail[n].effects {
			d.keys.Apply(d.tail[n].wall, effect)
		}
	}
	d.tail = append([]record(nil), d.tail[n:]...)
}

// crash loses what was not safe. byProcess: the machine lives on.
func (d *disk) crash(byProcess bool, now time.Duration) {
	if d.off() {
		return
	}
	if byProcess {
		d.settle(now)
	} else {
		d.settle(d.synced(now))
	}
	d.tail = nil
}

// replace starts anew from a whole dataset.
func (d *disk) replace(keys *redis.Keyspace) {
	if !d.off() {
		d.keys, d.tail = keys.Clone(), nil
	}
}

// wipe loses everything: a new machine with an empty volume.
func (d *disk) wipe() { d.keys, d.tail = nil, nil }

// load is the dataset that a starting server reads.
func (d *disk) load() *redis.Keyspace {
	if d.off() || d.keys == nil {
		return redis.New()
	}
	return d.keys.Clone()
}
