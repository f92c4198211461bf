package histories

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Format is the version of the history format that this package writes. A
// history of another version is refused, never guessed at.
const Format = "lockcheck/1"

// Header is the first line of a history: what ran, on what, with which
// settings. It has all that a checker needs to know besides the events, and
// nothing that differs between two runs of one seed.
type Header struct {
	Format   string            `json:"format"`
	Design   string            `json:"design,omitempty"`
	Nemesis  string            `json:"nemesis,omitempty"`
	Workload string            `json:"workload,omitempty"`
	Cluster  string            `json:"cluster,omitempty"` // "sim" or "docker"
	Source   string            `json:"source,omitempty"`  // for people: "simulated Redis", "Redis 7.0.15"
	Seed     uint64            `json:"seed,omitempty"`
	Version  string            `json:"version,omitempty"`  // of lockcheck
	Settings map[string]string `json:"settings,omitempty"` // every flag, by name
	Lock     LockSpec          `json:"lock"`
	Initial  int64             `json:"initial"`           // units that each stock key starts with …
	Stock    map[string]int64  `json:"stock,omitempty"`   // … but for these
	MaxDelay time.Duration     `json:"max-delay"`         // ns: a request may act this long after its time-out
	Passive  bool              `json:"passive,omitempty"` // it was recorded by somebody who saw neither faults nor leases: nothing has a cause
	Expect   map[string]string `json:"expect,omitempty"`  // corpus: property → what to blame; {"verdict":"valid"}
}

// LockSpec is what the lock under test promises.
type LockSpec struct {
	None      bool          `json:"none,omitempty"`      // the design uses no lock
	TTL       time.Duration `json:"ttl"`                 // ns; 0: no lease, held until release
	Grace     time.Duration `json:"grace"`               // ns after the TTL by which a free lock must be obtainable
	Reentrant bool          `json:"reentrant,omitempty"` // the same worker may take it again
	Deadline  bool          `json:"deadline,omitempty"`  // grants carry until
	Notice    bool          `json:"notice,omitempty"`    // loss is told (lost)
	Fenced    bool          `json:"fenced,omitempty"`    // grants carry fence

	MaxHold time.Duration `json:"max-hold,omitempty"` // ns: nobody needs the lock for longer; 0: nothing is promised
	// MaxZombie (ns) is how long the lock may be refused though nobody holds it
	// and nothing is in doubt; 0: for any time.
	MaxZombie time.Duration `json:"max-zombie,omitempty"`
}

// Lease is the lease that an acquire or extend asks for: its own TTL, or the
// lock's. 0: there is none.
func (l LockSpec) Lease(op *Op) time.Duration {
	if op.TTL > 0 {
		return time.Duration(op.TTL)
	}
	return l.TTL
}

// StockOf is the number of units that a stock key starts with.
func (h Header) StockOf(key string) int64 {
	if n, ok := h.Stock[key]; ok {
		return n
	}
	return h.Initial
}

// check reports what is out of bounds.
func (h Header) check() error {
	for _, d := range [...]struct {
		name string
		d    time.Duration
	}{{"lock.ttl", h.Lock.TTL}, {"lock.grace", h.Lock.Grace}, {"lock.max-hold", h.Lock.MaxHold}, {"lock.max-zombie", h.Lock.MaxZombie}, {"max-delay", h.MaxDelay}} {
		if d.d < 0 || d.d > MaxTime {
			return fmt.Errorf("%w: %s %d is out of bounds: want 0 to %d ns", ErrShape, d.name, d.d, int64(MaxTime))
		}
	}
	if h.Initial < 0 || h.Initial > MaxUnits {
		return fmt.Errorf("%w: initial %d is out of bounds: want 0 to %d units", ErrShape, h.Initial, int64(MaxUnits))
	}
	for _, key := range slices.Sorted(maps.Keys(h.Stock)) {
		if n := h.Stock[key]; n < 0 || n > MaxUnits {
			return fmt.Errorf("%w: stock of %.60q: %d is out of bounds: want 0 to %d units", ErrShape, key, n, int64(MaxUnits))
		}
	}
	return nil
}
