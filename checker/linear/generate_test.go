package linear

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// draw is a random number from 0 to n-1. Generators take one, so that both
// rapid (which shrinks) and math/rand (which is fast) can drive them.
type draw func(n int) int

func (d draw) chance(percent int) bool { return d(100) < percent }

// lockCase is a small lock history.
type lockCase struct {
	spec histories.LockSpec
	ops  []*histories.Op
	ends map[int64]int64 // op → end of its belief
}

func (c lockCase) end(op *histories.Op) int64 {
	if at, ok := c.ends[op.ID]; ok {
		return at
	}
	return histories.Never
}

// finish numbers operations by Call and returns them so.
func finish(ops []*histories.Op) []*histories.Op {
	slices.SortStableFunc(ops, func(a, b *histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	for i, op := range ops {
		op.CallLine = i + 1
	}
	return ops
}

// drawLock makes a lock history of a few workers, each of which acquires and
// releases in turn, at times so small that they often coincide. Most are
// nearly valid: workers wait for the lock in a simulation, then answers and
// times are disturbed.
func drawLock(d draw) lockCase {
	c := lockCase{ends: map[int64]int64{}}
	c.spec.Reentrant = d.chance(30)
	if d.chance(40) {
		c.spec.TTL = time.Duration(1 + d(8))
	}
	g := lockGen{d: d, c: &c, unknown: d(5) * 10, tokens: d(4), spread: 1 + int64(d(4)), fenced: d.chance(25)}
	workers := 2 + d(2)
	g.sessions = 2 + d(3)
	g.fence = -int64(d(4)) // numbers need only grow: they may begin below zero
	g.now = make([]int64, workers)
	for range g.sessions {
		g.session(d(workers))
	}
	finish(c.ops)
	return c
}

type lockGen struct {
	d        draw
	c        *lockCase
	unknown  int // percent
	tokens   int // 0: none, 1: one per worker, else: one per acquire
	spread   int64
	fenced   bool
	sessions int
	free     int64   // when the lock is free again, if all goes well
	now      []int64 // by worker
	fence    int64
}

// op adds an operation of worker w that happens about at. It takes a moment at
// least: what a worker does, it does in an order that the times show.
func (g *lockGen) op(w int, f string, at int64, token string) *histories.Op {
	call := max(g.now[w], at-int64(g.d(int(g.spread)+1)))
	op := &histories.Op{
		ID: int64(len(g.c.ops) + 1), Process: histories.Process(w), F: f, Token: token, Qty: 1,
		Call: call, Return: max(call+1, at+int64(g.d(int(g.spread)+1))), Outcome: histories.OK,
	}
	if g.d.chance(g.unknown) {
		op.Outcome = histories.Info
	}
	g.now[w] = op.Return
	g.c.ops = append(g.c.ops, op)
	return op
}

func (g *lockGen) token(w int) string {
	switch g.tokens {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("w%d", w)
	}
	return fmt.Sprintf("t%d", len(g.c.ops))
}

// session is one worker's taking and leaving the lock.
func (g *lockGen) session(w int) {
	at := max(g.free, g.now[w])
	if g.d.chance(10) {
		at = g.now[w] // does not wait
	}
	token := g.token(w)
	depth := 1
	if g.d.chance(25) {
		depth = 2
	}
	for range depth {
		a := g.op(w, histories.Acquire, at, token)
		g.fence += int64(g.d(8)) / 2
		if a.Outcome == histories.Info && g.d.chance(50) {
			a.Token = ""
		}
		if a.Outcome == histories.OK && g.fenced {
			a.Fence = histories.N(g.fence)
		}
		if a.Outcome == histories.OK && g.d.chance(20) {
			g.c.ends[a.ID] = a.Return + int64(g.d(6)) - 1
		}
		at = a.Return
	}
	at += int64(g.d(4))
	for range depth {
		if g.d.chance(80) {
			g.release(w, at, token)
		}
	}
	g.free = max(g.free, at)
}

func (g *lockGen) release(w int, at int64, token string) {
	rel := g.op(w, histories.Release, at, token)
	switch {
	case g.d.chance(10):
		rel.Outcome, rel.Error = histories.Fail, histories.NotOwner
	case g.d.chance(5):
		rel.Outcome, rel.Error = histories.Fail, "connection refused"
	}
	if rel.Outcome != histories.OK && g.d.chance(60) {
		again := g.op(w, histories.Release, at+1, token)
		if again.Outcome == histories.OK && g.d.chance(50) {
			again.Outcome, again.Error = histories.Fail, histories.NotOwner
		}
	}
}

// show writes a history for people.
func show(ops []*histories.Op) string {
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "\n  op %d worker %s %s %s [%d,%d]", op.ID, op.Process, op.F, op.Outcome, op.Call, op.Return)
		if op.Token != "" {
			fmt.Fprintf(&b, " token %s", op.Token)
		}
		if op.Qty != 1 {
			fmt.Fprintf(&b, " qty %d", op.Qty)
		}
		for name, n := range map[string]histories.Num{"fence": op.Fence, "until": op.Until, "left": op.Left, "seen": op.Seen, "value": op.Value} {
			if n.Known {
				fmt.Fprintf(&b, " %s %d", name, n.N)
			}
		}
		if op.Error != "" {
			fmt.Fprintf(&b, " (%s)", op.Error)
		}
	}
	return b.String()
}

// shrink leaves out operations for as long as bad still holds.
func shrink(ops []*histories.Op, bad func([]*histories.Op) bool) []*histories.Op {
	for again := true; again; {
		again = false
		for i := range ops {
			fewer := slices.Delete(slices.Clone(ops), i, i+1)
			if bad(fewer) {
				ops, again = fewer, true
				break
			}
		}
	}
	return ops
}

// stockCase is a small history of one stock key.
type stockCase struct {
	initial int64
	ops     []*histories.Op
}

// drawStock makes a stock history: operations that happen one after the other
// in a simulation, each with a window of time around its moment, some
// disturbed afterwards.
func drawStock(d draw) stockCase {
	c := stockCase{initial: int64(d(8))}
	g := stockGen{
		d: d, left: c.initial, unknown: d(5) * 10, told: d(5) * 25, reads: d(4) * 15, spread: 1 + d(8),
		sizes: 1 + d(3), same: d.chance(50), back: d.chance(30), wrong: d(4) * 5,
	}
	g.size = int64(1 + d(g.sizes))
	n := 3 + d(12)
	for range n {
		g.op()
	}
	c.ops = finish(g.ops)
	return c
}

type stockGen struct {
	d                                  draw
	ops                                []*histories.Op
	time, left, size                   int64
	unknown, told, reads, wrong, sizes int // percent, but for sizes
	spread                             int
	same, back                         bool // all of one size; units come back
}

func (g *stockGen) op() {
	g.time += int64(g.d(3))
	call := max(0, g.time-int64(g.d(g.spread)))
	op := &histories.Op{
		ID: int64(len(g.ops) + 1), Process: histories.Process(len(g.ops)), F: histories.Sell,
		Call: call, Return: max(call, g.time+int64(g.d(g.spread))), Outcome: histories.OK, Qty: 1 + int64(g.d(g.sizes)),
	}
	if g.same {
		op.Qty = g.size
	}
	g.ops = append(g.ops, op)
	switch {
	case g.d.chance(g.reads):
		op.F, op.Qty, op.Value = histories.Read, 1, histories.N(g.seen(g.left))
	case g.back && g.d.chance(20):
		g.giveBack(op)
	case g.d.chance(g.unknown):
		op.Outcome = histories.Info
		if g.d.chance(50) && g.left >= op.Qty {
			g.left -= op.Qty
		}
	case g.left < op.Qty || g.d.chance(g.wrong):
		op.Outcome, op.Error = histories.Fail, histories.SoldOut
		if g.d.chance(g.told) {
			op.Seen = histories.N(g.seen(g.left))
		}
	default:
		g.left -= op.Qty
		if g.d.chance(g.told) || g.told == 100 {
			op.Left = histories.N(g.seen(g.left))
		}
	}
}

func (g *stockGen) giveBack(op *histories.Op) {
	op.F = []string{histories.Restock, histories.Cancel}[g.d(2)]
	if g.d.chance(g.unknown) {
		op.Outcome = histories.Info
		if g.d.chance(50) {
			return
		}
	}
	g.left += op.Qty
	if op.Outcome == histories.OK && g.d.chance(g.told) {
		op.Left = histories.N(g.seen(g.left))
	}
}

// seen is n, rarely something else.
func (g *stockGen) seen(n int64) int64 {
	if g.d.chance(g.wrong) {
		return n + int64(g.d(4)) - 2
	}
	return n
}
