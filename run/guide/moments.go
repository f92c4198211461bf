package guide

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// moment is something rare that happened in a run, and when.
type moment struct {
	what string
	at   time.Duration
}

// follower follows the events of a run. It tells the moments after which the run had
// better be tried again with other random numbers, and the states that it went through.
type follower struct {
	ttl     time.Duration // 0: there is no lease
	over    bool          // the faults are over
	keys    map[string]*place
	sells   map[int64]histories.Event // under way
	begun   map[int64]histories.Event // operations under way
	faults  []string                  // in force, sorted
	roles   int                       // promotions so far
	moments []moment                  // each kind once, at its first time
	known   map[string]bool
	states  map[uint64]bool
}

// place is a key of a lock, or of the stock.
type place struct {
	beliefs map[histories.Process]*belief
	missing int   // operations without an answer
	left    int64 // units, as far as a worker was told
	selling int   // sells under way
}

// belief is a grant that its worker has not given back.
type belief struct {
	since    int64 // ns: when its lease was last known to begin
	long     bool  // the work under it takes more than half of the lease
	silent   int   // renewals in a row without an answer
	outlived bool  // its lease is over
}

func newFollower(ttl time.Duration) *follower {
	return &follower{
		ttl: ttl, keys: map[string]*place{}, sells: map[int64]histories.Event{}, begun: map[int64]histories.Event{},
		known: map[string]bool{}, states: map[uint64]bool{},
	}
}

// most is up to where things are counted: beyond it they are many.
const most = 3

// see takes the next event of the run.
func (f *follower) see(e histories.Event) {
	switch {
	case e.Process == histories.Auditor:
		return
	case e.Process == histories.Nemesis:
		f.mark(e)
	case e.Type == histories.Invoke:
		f.invoke(e)
	default:
		f.complete(e)
	}
	f.outlive(e.Time)
	if !f.over && e.Key != "" {
		f.states[f.state(e.Key)] = true
	}
}

// tell notes the first moment of a kind.
func (f *follower) tell(at int64, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if !f.over && !f.known[what] {
		f.known[what] = true
		f.moments = append(f.moments, moment{what, time.Duration(at)})
	}
}

// mark takes an event of the nemesis or of the cluster.
func (f *follower) mark(e histories.Event) {
	switch {
	case e.F == histories.Phase:
		f.over = e.Note != "running"
	case e.F == histories.Promoted:
		f.roles++
		f.tell(e.Time, "promoted %d", min(f.roles, most))
	case e.Fault == nil || e.Error != "":
	default:
		if k, _ := e.Fault.Kind(); k.Undoes {
			f.faults = nil
			f.tell(e.Time, "after %s", e.F)
			return
		}
		f.faults = append(f.faults, e.F)
		slices.Sort(f.faults)
		f.tell(e.Time, "fault %s", strings.Join(f.faults[:min(len(f.faults), most)], "+"))
	}
}

func (f *follower) place(key string) *place {
	p := f.keys[key]
	if p == nil {
		p = &place{beliefs: map[histories.Process]*belief{}, left: -1}
		f.keys[key] = p
	}
	return p
}

func (f *follower) invoke(e histories.Event) {
	f.begun[e.Op] = e
	p := f.place(e.Key)
	switch e.F {
	case histories.Sell:
		f.sells[e.Op] = e
		p.selling++
		if p.selling > 2 {
			f.tell(e.Time, "crowd of %d, %d left", min(p.selling, 6), min(max(p.left, 0), most))
		}
	case histories.Release:
		delete(p.beliefs, e.Process)
	}
}

func (f *follower) complete(e histories.Event) {
	begun := f.begun[e.Op]
	delete(f.begun, e.Op)
	if e.Key == "" {
		e.Key = begun.Key
	}
	p := f.place(e.Key)
	b := p.beliefs[e.Process]
	if e.Type == histories.Info && e.F != histories.Lost {
		p.missing++
		f.tell(e.Time, "no answer to %s %d", e.F, min(p.missing, most))
	}
	switch {
	case e.F == histories.Sell:
		delete(f.sells, e.Op)
		p.selling--
	case e.F == histories.Write && e.Left.Known:
		p.left = e.Left.N
	case e.F == histories.Read && e.Type == histories.OK:
		p.left = e.Value.N
	case e.F == histories.Lost:
		delete(p.beliefs, e.Process)
		f.tell(e.Time, "lost")
	case e.F == histories.Acquire:
		f.acquired(e, begun, p)
	case e.F == histories.Extend && b != nil:
		f.extended(e, begun, b)
	case e.F == histories.Release && e.Error == histories.NotOwner:
		f.tell(e.Time, "release of what was lost")
	}
}

func (f *follower) acquired(e, begun histories.Event, p *place) {
	if e.Type != histories.OK {
		for _, b := range p.beliefs {
			if e.Error == histories.Busy && b.silent > 0 {
				f.tell(e.Time, "waits for a silent holder %d", min(b.silent, most))
			}
		}
		return
	}
	b := &belief{since: begun.Time, long: f.ttl > 0 && 2*f.sells[begun.Parent].Work > int64(f.ttl)}
	p.beliefs[e.Process] = b
	switch {
	case len(p.beliefs) > 1:
		f.tell(e.Time, "taken over")
	case b.long && p.missing > 0:
		f.tell(e.Time, "long work, %d answers missing", min(p.missing, most))
	case b.long:
		f.tell(e.Time, "long work, %s", strings.Join(f.faults[:min(len(f.faults), most)], "+"))
	}
}

func (f *follower) extended(e, begun histories.Event, b *belief) {
	switch e.Type {
	case histories.OK:
		b.since, b.silent = begun.Time, 0
	case histories.Info:
		b.silent++
		if b.long {
			f.tell(e.Time, "no answer to renewals of long work %d", min(b.silent, most))
		}
	default:
		f.tell(e.Time, "renewal refused")
	}
}

// outlive finds beliefs whose lease is over by now.
func (f *follower) outlive(now int64) {
	if f.ttl == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(f.keys)) {
		for _, b := range f.keys[key].beliefs {
			if !b.outlived && now-b.since > int64(f.ttl) {
				b.outlived = true
				f.tell(now, "outlived its lease, %d silent", min(b.silent, most))
			}
		}
	}
}

// state is a hash of who believes what about a key, of what is missing and left, and of
// the faults in force. Workers count by what they believe and not by their number.
func (f *follower) state(key string) uint64 {
	p := f.keys[key]
	if p == nil {
		return 0
	}
	beliefs := uint64(0) // a sum: their order does not count
	for _, b := range p.beliefs {
		beliefs += 1 << (6 * (min(b.silent, most) + 4*bit(b.long) + 8*bit(b.outlived)) % 61)
	}
	h := fnv.New64a()
	var number [8]byte
	for _, n := range []uint64{
		beliefs, uint64(min(p.missing, most)), uint64(min(p.left, most)), uint64(min(p.selling, 6)), uint64(min(f.roles, most)),
	} {
		binary.LittleEndian.PutUint64(number[:], n)
		_, _ = h.Write(number[:]) // a hash never fails
	}
	for _, fault := range f.faults {
		_, _ = h.Write([]byte(fault))
	}
	return h.Sum64()
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}
