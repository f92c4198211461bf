// Package locktest tests a Redis lock written in Go, in an ordinary go test, with
// its real client library and in virtual time.
//
//	func TestOurLock(t *testing.T) {
//		locktest.Test(t, locktest.Config{Expect: locktest.Breaks("pause")}, func(c redis.UniversalClient) locktest.Lock { return ourLock{c} })
//	}
//
// Test plays scenes. In each of them a few workers take locks, work, renew and
// release, a nemesis injects faults, and everything is recorded as a history of
// lockcheck, which package checker judges. A scene runs in a bubble of
// testing/synctest: every worker has a go-redis client of its own, whose Dialer
// answers an in-memory connection to a simulated Redis. Leases run out, time-outs
// pass and retries wait in virtual time, so that a minute takes some
// milliseconds.
//
// The lock itself is not changed. What Test needs is an adapter to Lock and Hold,
// some 20 lines. Libraries on other clients work if they can be given a dialer
// that returns a net.Conn: a client made from a *redis.Options has one in its
// Dialer.
//
// The scenes have locks and no stock: they judge the lock level. Package
// lockcheck tests whole shops, with locks written against workload/env.
package locktest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockcheck/lockcheck/checker"
)

// Lock is the lock under test as one worker has it.
type Lock interface {
	// Acquire takes the lock of a key. ErrBusy says that another has it and that
	// nothing was taken; after any other error nobody knows. Acquire may wait,
	// until ctx is done.
	Acquire(ctx context.Context, key string) (Hold, error)
}

// Hold is one grant of a lock. It may have more methods, which Test looks for:
//
//	Extend(ctx context.Context) error    renews the lease; ErrNotOwner says that it is lost
//	Until() time.Time                    the deadline after which its worker no longer believes in it
//	Lost() <-chan struct{}               is closed when the lock finds that it is lost
//
// A worker believes that it holds the lock from its grant until it releases it,
// until Until, or until it is told of the loss, whatever comes first.
type Hold interface {
	// Release gives the lock back. ErrNotOwner says that it was no longer held;
	// after any other error nobody knows.
	Release(ctx context.Context) error
}

type (
	extender  interface{ Extend(context.Context) error }
	deadliner interface{ Until() time.Time }
	loser     interface{ Lost() <-chan struct{} }
)

// What the methods of a Lock say, perhaps wrapped.
var (
	ErrBusy     = errors.New("busy")
	ErrNotOwner = errors.New("not the owner")
)

// Config says how a lock is tested. The zero Config is every nemesis and what
// each field has as its default.
type Config struct {
	Name    string   // of the lock, in reports; default: the test's
	Nemeses []string // default: all of Nemeses()
	Expect  Expectation

	// TTL is the lease that the lock asks for. Default: what a lone worker's
	// grant is seen to have on the server.
	TTL time.Duration
	// Renews says that the lock renews itself while it is held. Some holds then
	// outlast the lease.
	Renews bool
	// Wait bounds each Acquire, by its context. Default: twice the TTL.
	Wait time.Duration
	// Grace is how long after its TTL a lock that nobody holds may still be
	// refused. Default: 2 s.
	Grace time.Duration

	Workers int           // default: 3
	Keys    int           // default: 2
	Time    time.Duration // of the phase with faults, in virtual time. Default: 30 s or 8 TTL, if that is more
	Seeds   int           // scenes under each nemesis. Default: -lockcheck.seeds, which is 20

	// Options changes the options of every client. Its Addrs and Dialer are
	// locktest's own. Without it they are go-redis' defaults, but that retries
	// follow at once: their waits are random, and a seed would not be played
	// again.
	Options func(*redis.UniversalOptions)
}

// Expectation is what a test says about nemeses under which its lock is known not
// to hold. The zero Expectation is that it holds under all.
type Expectation struct{ breaks []string }

// Breaks expects that some scene under each of these nemeses breaks the lock. It
// is an error if none does: a test that says so has become wrong, or too weak.
func Breaks(nemeses ...string) Expectation { return Expectation{nemeses} }

var (
	oneSeed = flag.Uint64("lockcheck.seed", 0, "play this seed alone, and write its report")
	seeds   = flag.Int("lockcheck.seeds", 20, "scenes of a lock under each nemesis, with the seeds 1 to this")
	store   = flag.String("lockcheck.store", filepath.Join(os.TempDir(), "lockcheck-reports"), "folder for the reports of scenes that failed")
)

// Test plays scenes of a lock under each nemesis, each nemesis in a subtest of its
// own. A subtest fails at the first scene that breaks the lock, with the verdict,
// the operations that prove it and the path of a report. lock makes the lock of
// one worker, with its own client; it is called anew when a worker has crashed.
//
// Where a Lock is an io.Closer, it is closed at the end of its scene. Goroutines
// of a lock must end when it is released, lost or closed: a bubble waits for them.
func Test(t *testing.T, cfg Config, lock func(redis.UniversalClient) Lock) {
	t.Helper()
	TestIndependent(t, cfg, 1, func(c []redis.UniversalClient) Lock { return lock(c[0]) })
}

// TestIndependent is Test for a lock on several independent servers, such as
// Redlock: each worker has a client for each of them.
func TestIndependent(t *testing.T, cfg Config, servers int, lock func([]redis.UniversalClient) Lock) {
	t.Helper()
	s := subject{Config: cfg, servers: servers, make: lock}
	if err := s.settle(t); err != nil {
		t.Fatal(err)
	}
	for _, name := range s.Nemeses {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			s.against(t, name)
		})
	}
}

// subject is a lock under test.
type subject struct {
	Config
	servers int
	make    func([]redis.UniversalClient) Lock
}

// settle fills in the defaults and finds what cannot be meant.
func (s *subject) settle(t *testing.T) error {
	s.Name = cmp.Or(s.Name, t.Name())
	if len(s.Nemeses) == 0 {
		s.Nemeses = Nemeses()
	}
	for _, name := range slices.Concat(s.Nemeses, s.Expect.breaks) {
		if player(name) == nil {
			return errors.New("locktest: no nemesis " + name + "; there are " + strings.Join(Nemeses(), ", "))
		}
	}
	for _, name := range s.Expect.breaks {
		if !slices.Contains(s.Nemeses, name) {
			return errors.New("locktest: the test expects that " + name + " breaks the lock, and does not play it")
		}
	}
	if s.servers < 1 {
		return errors.New("locktest: a lock needs a server")
	}
	s.Workers, s.Keys, s.Seeds = cmp.Or(s.Workers, 3), cmp.Or(s.Keys, 2), cmp.Or(s.Seeds, *seeds)
	if s.TTL == 0 {
		var err error
		if s.TTL, err = lease(t, s); err != nil {
			return err
		}
	}
	s.Time = cmp.Or(s.Time, max(30*time.Second, 8*s.TTL))
	s.Wait = cmp.Or(s.Wait, 2*s.span())
	s.Grace = cmp.Or(s.Grace, 2*time.Second)
	return nil
}

// span is what works and pauses are measured by: the TTL, or some time where
// there is no lease.
func (s *subject) span() time.Duration { return cmp.Or(s.TTL, 5*time.Second) }

// against plays the scenes of one nemesis, and fails t if the lock does not do
// what is expected of it.
func (s *subject) against(t *testing.T, nemesis string) {
	t.Helper()
	if *tallied {
		s.logTally(t, nemesis)
		return
	}
	found, err := s.search(t, nemesis)
	expected := slices.Contains(s.Expect.breaks, nemesis)
	switch {
	case err != nil:
		t.Errorf("%s under %s: %v", s.Name, nemesis, err)
	case found != nil && expected:
		t.Logf("as expected, seed %d breaks it:\n%s", found.seed, found.text())
	case found != nil:
		folder, err := found.keep(*store)
		t.Errorf("%s under %s, seed %d:\n%s", s.Name, nemesis, found.seed, found.text())
		if err != nil {
			t.Errorf("its report could not be written: %v", err)
		} else {
			t.Logf("Report:  %s\nAgain:   go test -run '^%s$' -args -lockcheck.seed=%d", folder, strings.ReplaceAll(t.Name(), "/", "$/^"), found.seed)
		}
	case expected && *oneSeed == 0:
		t.Errorf("%s under %s: it was expected to break, and none of %d seeds broke it", s.Name, nemesis, s.Seeds)
	}
}

// search plays scenes until one is broken; nil if none is. It is an error if no
// scene decided anything.
func (s *subject) search(t *testing.T, nemesis string) (*scene, error) {
	first, last := uint64(1), uint64(s.Seeds)
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	decided, why := false, "no scenes were asked for"
	for seed := first; seed <= last; seed++ {
		sc := &scene{subject: s, nemesis: nemesis, seed: seed}
		if err := sc.play(t); err != nil {
			return nil, err
		}
		if sc.verdict.Outcome == checker.Invalid {
			return sc, nil
		}
		if doubt := sc.doubt(); doubt != "" {
			why = doubt
		} else {
			decided = true
		}
	}
	if !decided {
		return nil, errors.New("no scene decided anything: " + why)
	}
	return nil, nil
}
