package own

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Sell has the program make the whole sale, and records what it announces.
func Sell(ctx context.Context, t *stock.Till, p stock.Purchase) (stock.Receipt, error) {
	s := &sale{till: t, p: p}
	t.Env.Own.Listen(s.hear)
	a := t.Env.Own.Ask(ctx, protocol.Request{
		Do: protocol.Sell, Key: p.Key, Lock: p.LockKey, Qty: p.Qty, Order: p.Order, Work: p.Work.Milliseconds(),
	})
	s.over()
	r := stock.Receipt{Left: num(a.Left), Seen: num(a.Seen)}
	switch a.Outcome {
	case protocol.OK:
		return r, nil
	case protocol.SoldOut:
		return r, stock.ErrSoldOut
	case protocol.Busy:
		return r, env.ErrBusy
	case protocol.Refused:
		return r, fmt.Errorf("%w: %w", stock.ErrUntouched, refusal(a.Why))
	}
	return r, fmt.Errorf("%w: %s", env.ErrDoubt, a.Why)
}

var _ stock.Sale = Sell

func num(n protocol.Number) histories.Num { return histories.Num{N: n.N, Known: n.Known} }

// sale is a sale under way.
type sale struct {
	till *stock.Till
	p    stock.Purchase

	mu     sync.Mutex
	ended  bool
	holds  []hold // that were announced
	writes []write
}

// hold is a hold that was announced.
type hold struct{ key, told, token string }

type write struct {
	key string
	end func(histories.Num, error)
}

// hear records what is announced. A hold begins when its note has been read,
// which is after the grant, and ends when the note before its release has
// been, which is before that.
func (s *sale) hear(n protocol.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	switch n.Note {
	case protocol.NoteAcquired:
		s.acquired(n)
	case protocol.NoteReleasing:
		s.releasing(n)
	case protocol.NoteLost:
		if h := s.find(n); h != nil {
			s.till.Note(histories.Event{Type: histories.Info, F: histories.Lost, Key: h.key, Parent: s.till.Sell, Token: h.token})
		}
	case protocol.NoteRenewed:
		if h := s.find(n); h != nil {
			_, end := s.till.Begin(histories.Event{F: histories.Extend, Key: h.key, Parent: s.till.Sell, Token: h.token})
			ok := histories.Event{Type: histories.OK}
			if n.Until > 0 {
				ok.Until = histories.At(n.Until)
			}
			end(ok)
		}
	case protocol.NoteWriting:
		s.writes = append(s.writes, write{n.Key, s.till.Writing(histories.Event{Key: n.Key, Qty: s.p.Qty})})
	case protocol.NoteWrote:
		if i := slices.IndexFunc(s.writes, func(w write) bool { return w.key == n.Key }); i >= 0 {
			s.writes[i].end(num(n.Left), nil)
			s.writes = slices.Delete(s.writes, i, i+1)
		}
	}
}

func (s *sale) acquired(n protocol.Note) {
	op, end := s.till.Begin(histories.Event{F: histories.Acquire, Key: n.Key, Parent: s.till.Sell, Final: s.till.Final})
	h := hold{n.Key, n.Token, fmt.Sprintf("%s#%d", n.Token, op)}
	ok := histories.Event{Type: histories.OK, Token: h.token, Fence: num(n.Fence)}
	if n.Until > 0 {
		ok.Until = histories.At(n.Until)
	}
	end(ok)
	s.holds = append(s.holds, h)
}

// releasing records a release whose outcome nobody tells.
func (s *sale) releasing(n protocol.Note) {
	h := s.find(n)
	if h == nil {
		return
	}
	_, end := s.till.Begin(histories.Event{F: histories.Release, Key: h.key, Parent: s.till.Sell, Token: h.token})
	end(histories.Event{Type: histories.Info, Error: "not told"})
}

// find is the newest hold that a note is about.
func (s *sale) find(n protocol.Note) *hold {
	for i := range slices.Backward(s.holds) {
		if h := &s.holds[i]; h.key == n.Key && (n.Token == "" || n.Token == h.told) {
			return h
		}
	}
	return nil
}

// over ends what was announced and has not been said to be done.
func (s *sale) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, w := range s.writes {
		w.end(histories.Num{}, fmt.Errorf("%w: not told", env.ErrDoubt))
	}
}
