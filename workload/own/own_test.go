package own_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/own"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// stub is a child that answers what it is told to, after some notes.
type stub struct {
	can    []string
	notes  []protocol.Note
	answer protocol.Answer
	asked  []protocol.Request
	listen func(protocol.Note)
}

func (s *stub) Ready() protocol.Ready {
	return protocol.Ready{Name: "stub", Can: s.can, TTL: time.Second}
}
func (s *stub) Listen(f func(protocol.Note)) { s.listen = f }
func (s *stub) Ask(_ context.Context, r protocol.Request) protocol.Answer {
	s.asked = append(s.asked, r)
	for _, n := range s.notes {
		s.listen(n)
	}
	return s.answer
}

func TestEachOutcomeIsTheErrorThatWorkersKnow(t *testing.T) {
	for _, tt := range []struct {
		outcome protocol.Outcome
		is      error
		unknown bool
		sale    error
	}{
		{protocol.OK, nil, false, nil},
		{protocol.Busy, env.ErrBusy, false, env.ErrBusy},
		{protocol.Gone, env.ErrNotOwner, false, env.ErrDoubt}, // no sale ends so
		{protocol.Refused, env.ErrRefused, false, stock.ErrUntouched},
		{protocol.Unknown, env.ErrDoubt, true, env.ErrDoubt},
		{protocol.SoldOut, env.ErrDoubt, true, stock.ErrSoldOut}, // no acquire ends so
	} {
		s := &stub{answer: protocol.Answer{Outcome: tt.outcome, Why: "because"}}
		e := env.Unrecorded(&env.Env{Own: s})
		_, err := own.NewLock(e, lock.Options{}).Acquire(t.Context(), "k")
		if !errors.Is(err, tt.is) || env.Unknown(err) != tt.unknown {
			t.Errorf("acquire: %s is %v, unknown %v", tt.outcome, err, env.Unknown(err))
		}
		_, err = own.Sell(t.Context(), &stock.Till{Env: e}, stock.Purchase{})
		if !errors.Is(err, tt.sale) || stock.Unknown(err) != (tt.sale == env.ErrDoubt) {
			t.Errorf("sell: %s is %v, unknown %v", tt.outcome, err, stock.Unknown(err))
		}
	}
}

// A lease has the methods for what its program can do, and no others.
func TestALeaseCanWhatItsProgramCan(t *testing.T) {
	words := []string{protocol.CanExtend, protocol.CanDeadline, protocol.CanLost, protocol.CanFence}
	for what := range 16 {
		s := &stub{answer: protocol.Answer{Outcome: protocol.OK, Token: "9f", Until: time.Minute, Fence: protocol.Number{N: 17, Known: true}}}
		for bit, can := range words {
			if what>>bit&1 == 1 {
				s.can = append(s.can, can)
			}
		}
		lease, err := own.NewLock(env.Unrecorded(&env.Env{Own: s}), lock.Options{}).Acquire(t.Context(), "k")
		if err != nil || lease.Token() != "9f" {
			t.Fatal(lease, err)
		}
		_, x := lease.(env.Extender)
		d, hasD := lease.(env.Deadline)
		_, n := lease.(env.Notice)
		f, hasF := lease.(env.Fence)
		if got := []bool{x, hasD, n, hasF}; !cmp.Equal(got, []bool{what&1 > 0, what&2 > 0, what&4 > 0, what&8 > 0}) {
			t.Errorf("can %v: extender, deadline, notice, fence are %v", s.can, got)
		}
		if hasD && d.Until() != time.Minute || hasF && f.Fence() != 17 {
			t.Errorf("can %v: the deadline or the number is wrong", s.can)
		}
	}
}

func TestNotesMoveAndEndALease(t *testing.T) {
	s := &stub{can: []string{protocol.CanDeadline, protocol.CanLost}, answer: protocol.Answer{Outcome: protocol.OK, Token: "9f", Until: 5 * time.Second}}
	e := env.Unrecorded(&env.Env{Own: s})
	var extended []time.Duration
	e.Extending = func(string, string) func(time.Duration, error) {
		return func(until time.Duration, _ error) { extended = append(extended, until) }
	}
	lease, err := own.NewLock(e, lock.Options{}).Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	lease.(env.Notice).OnLost(func() { told++ })
	for _, n := range []protocol.Note{
		{Note: protocol.NoteRenewed, Key: "k", Token: "9f", Until: 7 * time.Second},
		{Note: protocol.NoteRenewed, Key: "k", Until: 6 * time.Second}, // known from below only
		{Note: protocol.NoteRenewed, Key: "other", Until: time.Hour},
		{Note: protocol.NoteLost, Key: "k", Token: "another"},
	} {
		s.listen(n)
	}
	if until := lease.(env.Deadline).Until(); until != 7*time.Second || told != 0 {
		t.Errorf("until %v, told %d times", until, told)
	}
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 7 * time.Second}, extended); diff != "" {
		t.Errorf("renewals recorded: %s", diff)
	}
	s.listen(protocol.Note{Note: protocol.NoteLost, Key: "k"})
	s.listen(protocol.Note{Note: protocol.NoteLost, Key: "k"})
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// recorded is a till whose steps are written down.
func recorded(s *stub) (*stock.Till, *[]string) {
	var steps []string
	till := &stock.Till{
		Env: env.Unrecorded(&env.Env{Own: s}),
		Begin: func(e histories.Event) (int64, func(histories.Event)) {
			steps = append(steps, "invoke "+e.F+" "+e.Key+" "+e.Token)
			return int64(len(steps)), func(how histories.Event) {
				steps = append(steps, string(how.Type)+" "+e.F+" "+how.Token+how.Left.String())
			}
		},
		Note: func(e histories.Event) { steps = append(steps, "note "+e.F+" "+e.Token) },
	}
	return till, &steps
}

func TestWhatAShopAnnouncesIsRecorded(t *testing.T) {
	s := &stub{answer: protocol.Answer{Outcome: protocol.OK, Left: protocol.Number{N: 3, Known: true}}, notes: []protocol.Note{
		{Note: protocol.NoteAcquired, Key: "stock:a", Token: "9f"},
		{Note: protocol.NoteWriting, Key: "a#1"},
		{Note: protocol.NoteWrote, Key: "a#1", Left: protocol.Number{N: 3, Known: true}},
		{Note: protocol.NoteLost, Key: "stock:a"},
		{Note: protocol.NoteReleasing, Key: "stock:a", Token: "9f"},
		{Note: protocol.NoteReleasing, Key: "stock:b"}, // of which it had none
		{Note: protocol.NoteWriting, Key: "a#2"},
	}}
	till, steps := recorded(s)
	r, err := own.Sell(t.Context(), till, stock.Purchase{Key: "a#1", LockKey: "stock:a", Qty: 2, Order: "w1-1", Work: 12 * time.Millisecond})
	if err != nil || r.Left.N != 3 {
		t.Errorf("sold: %+v, %v", r, err)
	}
	want := []string{
		"invoke acquire stock:a ", "ok acquire 9f#1?",
		"invoke write a#1 ", "ok write 3",
		"note lost 9f#1",
		"invoke release stock:a 9f#1", "info release ?",
		"invoke write a#2 ", "info write ?",
	}
	if diff := cmp.Diff(want, *steps); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]protocol.Request{{Do: "sell", Key: "a#1", Lock: "stock:a", Qty: 2, Order: "w1-1", Work: 12}}, s.asked); diff != "" {
		t.Error(diff)
	}
	before := len(*steps)
	s.listen(protocol.Note{Note: protocol.NoteAcquired, Key: "stock:a"})
	if len(*steps) != before {
		t.Error("what is announced after the sale is recorded")
	}
}

func TestADesignIsWhatItsProgramSays(t *testing.T) {
	r := protocol.Ready{Name: "x", Can: []string{"extend", "lost", "renews", "fence", "deadline", "reentrant"}, TTL: 3 * time.Second}
	d := own.Design("mine", []string{"mine"}, env.Topology{Lock: env.Single}, r)
	resolved, err := d.Resolve(d.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	want := histories.LockSpec{TTL: 3 * time.Second, Grace: time.Second, Reentrant: true, Deadline: true, Notice: true, Fenced: true}
	if diff := cmp.Diff(want, resolved.Header().Lock); diff != "" || !d.Renews {
		t.Errorf("its lock (-want +got):\n%s", diff)
	}
	if d := own.Design("mine", []string{"mine"}, env.Topology{}, protocol.Ready{Name: "x", Can: []string{"sell"}}); d.Lock != nil {
		t.Error("a shop that announces nothing is judged by its lock")
	}
	if d := own.Design("mine", []string{"mine"}, env.Topology{}, protocol.Ready{Name: "x", Can: []string{"sell", "announce"}}); d.Lock == nil || !d.NoLease {
		t.Error("a shop that announces its holds is not judged by its lock")
	}
}
