package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Program is the program of one worker of a design of this module. It is an
// env.Worker.
func Program(ctx context.Context, spec []byte, e *env.Env, w env.Wire) error {
	return catalogue.Program(ctx, spec, e, w)
}

// Program is the program of one worker of a design of the catalogue: the Spec
// names it. It is an env.Worker.
func (c Catalogue) Program(ctx context.Context, spec []byte, e *env.Env, w env.Wire) error {
	var s Spec
	if err := json.Unmarshal(spec, &s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	d, ok := c.Find(s.Design)
	if !ok {
		return fmt.Errorf("spec: there is no design %q", s.Design)
	}
	return d.Program(ctx, spec, e, w)
}

// Program is the program of one worker: customers come to it and buy, until
// the phase is Done. It is an env.Worker.
func (d Design) Program(ctx context.Context, spec []byte, e *env.Env, w env.Wire) error {
	var s Spec
	if err := json.Unmarshal(spec, &s); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	r, err := d.Resolve(s)
	if err != nil {
		return err
	}
	return newWorker(r, e, w).run(ctx)
}

var _ env.Worker = Program

// worker serves one customer after the other.
type worker struct {
	spec   Resolved
	env    *env.Env
	wire   env.Wire
	record *recorder
	till   *stock.Till
	books  Books

	work, think, qty Distribution
	batch            []int // by line (SKU and segment): the batch on sale
	purchases        int   // made while running
}

// poll is how often a waiting worker looks at the phase.
const poll = 5 * time.Millisecond

func newWorker(s Resolved, e *env.Env, w env.Wire) *worker {
	k := &worker{spec: s, env: e, wire: w, record: newRecorder(e, w, s.Workers), books: s.books()}
	// Resolve has checked all three.
	k.work, _ = Durations(s.Work, s.TTL)
	k.think, _ = Durations(s.Think, s.TTL)
	k.qty, _ = Quantities(s.Qty)
	k.batch = make([]int, s.SKUs*s.segments())
	for i := range k.batch {
		k.batch[i] = i % s.segments()
	}
	k.till = &stock.Till{Env: e, Initial: s.Stock, Begin: k.record.begin, Note: k.record.note}
	if s.Leases != "" && !s.Of.NoLease {
		k.till.TTL = s.lease(e.Worker)
	}
	e.Extending, e.Releasing, e.Breaking = k.till.Extending, k.till.Releasing, k.till.Breaking
	passSteps(e)
	k.till.Lock = s.NewLock(e)
	return k
}

// passSteps lets e go through all steps, unless it stops at them.
func passSteps(e *env.Env) {
	if e.Step == nil {
		e.Step = func(context.Context, string) error { return nil }
	}
}

func (k *worker) run(ctx context.Context) error {
	defer k.tidy(ctx)()
	for last := false; ; {
		switch phase := k.wire.Phase(); {
		case phase == env.Done:
			return k.drain(ctx)
		case phase == env.Running && !k.finished():
			if err := k.serve(ctx); err != nil {
				return err
			}
			if k.spec.Of.Idle != nil {
				if err := k.idle(ctx); err != nil {
					return err
				}
			}
		case phase == env.Final && !last:
			last = true
			if err := k.lastAttempts(ctx); err != nil {
				return err
			}
		default:
			if err := k.idle(ctx); err != nil {
				return err
			}
		}
	}
}

// tidy has worker 0 tidy up after a lock that needs it, until stop is called.
func (k *worker) tidy(ctx context.Context) (stop func()) {
	j, needed := k.till.Lock.(env.Janitor)
	if !needed || k.env.Worker != 0 {
		return func() {}
	}
	return k.env.Clock.Every(ctx, j.Rounds(), func(ctx context.Context) bool {
		j.Tidy(ctx)
		return true
	})
}

// finished says that this worker has bought all it may.
func (k *worker) finished() bool {
	limit := k.spec.MaxOps
	if limit == 0 && k.spec.Workload == FlashSale {
		limit = 1
	}
	return limit > 0 && k.purchases >= limit
}

// serve waits for a customer and serves it. A worker that finds a batch sold out,
// while browsing or at checkout, buys from the next one, so that all workers sell
// where the last units are. A customer of a flash sale does not look around, and
// presses the button again at once when the only answer is "busy".
func (k *worker) serve(ctx context.Context) error {
	if err := k.env.Clock.Sleep(ctx, time.Duration(k.think.Draw(k.env.Rand))); err != nil {
		return err
	}
	flash := k.spec.Workload == FlashSale
	line, c := k.env.Rand.IntN(len(k.batch)), k.customer()
	for k.wire.Phase() == env.Running && !k.finished() {
		if !flash {
			k.browse(ctx, line, c)
		}
		if k.batch[line] >= k.spec.Batches {
			return k.env.Clock.Sleep(ctx, poll) // sold out for good
		}
		err := k.sell(ctx, line, c)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case flash && unanswered(err):
			if err := k.env.Clock.Sleep(ctx, poll); err != nil {
				return err
			}
			continue
		}
		k.purchases++
		if flash || !errors.Is(err, stock.ErrSoldOut) {
			return nil
		}
		k.batch[line] += k.spec.segments()
	}
	return nil
}

// unanswered says that a customer was neither sold anything nor told that
// there is nothing left.
func unanswered(err error) bool {
	return err != nil && !stock.Unknown(err) && !errors.Is(err, stock.ErrSoldOut)
}

// browse looks for a batch that seems to have enough. It is no part of a
// sale: what it sees is not recorded and may have changed at the till.
func (k *worker) browse(ctx context.Context, line int, c customer) {
	for k.batch[line] < k.spec.Batches {
		units, err := k.books.Units(ctx, k.env, k.stockKey(line))
		if err != nil || units >= c.qty {
			return
		}
		k.batch[line] += k.spec.segments()
	}
}

// idle is what a worker does that has nothing to sell.
func (k *worker) idle(ctx context.Context) error {
	if k.spec.Of.Idle != nil {
		if did, err := k.spec.Of.Idle(ctx, k.till, poll); err == nil && did {
			return ctx.Err()
		}
	}
	return k.env.Clock.Sleep(ctx, poll)
}

// drain does what is left to do besides selling. What this worker fails to
// do the audit does.
func (k *worker) drain(ctx context.Context) error {
	_ = drain(ctx, k.spec.Of, k.till, 3)
	return ctx.Err()
}

// drain does what a design does besides selling, until there is nothing left
// or it has failed tries times in a row.
func drain(ctx context.Context, d Design, t *stock.Till, tries int) error {
	const limit = time.Second
	for failed := 0; d.Idle != nil; {
		did, err := d.Idle(ctx, t, limit)
		switch {
		case err == nil && !did:
			return nil
		case err == nil:
			failed = 0
			continue
		}
		if failed++; failed == tries {
			return err
		}
		if err := t.Env.Clock.Sleep(ctx, time.Duration(failed)*100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// lastAttempts buys of each SKU once more, the workers taking turns, to show
// that its lock can be acquired again.
func (k *worker) lastAttempts(ctx context.Context) error {
	for line := k.env.Worker; line < len(k.batch); line += k.spec.Workers {
		if err := k.lastAttempt(ctx, line, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lastAttempt buys once more: a busy lock is tried again and again until every lease
// has ended and every late request has acted.
func (k *worker) lastAttempt(ctx context.Context, line int, again time.Duration) error {
	k.batch[line] = min(k.batch[line], k.spec.Batches-k.spec.segments()+line%k.spec.segments())
	end := k.env.Clock.Now() + k.spec.TTL + k.spec.Grace + k.spec.MaxDelay + time.Second
	c := k.customer()
	c.work, c.final = time.Millisecond, true
	for {
		err := k.sell(ctx, line, c)
		if !errors.Is(err, env.ErrBusy) || k.env.Clock.Now() > end {
			return ctx.Err()
		}
		if err := k.env.Clock.Sleep(ctx, again); err != nil {
			return err
		}
	}
}

// customer is who comes to the till.
type customer struct {
	name  string
	again bool // may have been here before, for the same
	qty   int64
	work  time.Duration
	final bool // the last one
}

// customer draws who comes next and wants how much. Customers who come again
// always want the same quantity.
func (k *worker) customer() customer {
	c := customer{name: customerName(k.env.Worker), qty: k.qty.Draw(k.env.Rand), work: time.Duration(k.work.Draw(k.env.Rand))}
	if k.spec.Customers > 0 {
		n := k.env.Rand.IntN(k.spec.Customers)
		c.name, c.again, c.qty = customerName(n), true, 1+int64(n)%k.qty.Max()
	}
	return c
}

func (k *worker) stockKey(line int) string {
	return StockKey(line/k.spec.segments(), k.batch[line])
}

// purchase is what a customer asks for. Order ids are the worker's number and
// a count, unless the same customers come again: then the same customer and
// batch mean the same order.
func (k *worker) purchase(line int, c customer) stock.Purchase {
	p := stock.Purchase{
		Key: k.stockKey(line), LockKey: k.spec.lockKey(line/k.spec.segments(), k.batch[line], c.name),
		Qty: c.qty, Customer: c.name, Work: c.work,
	}
	if p.Order = c.name + "@" + p.Key; !c.again {
		p.Order = fmt.Sprintf("w%d-%d", k.env.Worker, k.record.count())
	}
	return p
}

// sell makes one purchase and records it.
func (k *worker) sell(ctx context.Context, line int, c customer) error {
	p := k.purchase(line, c)
	op, end := k.record.begin(histories.Event{
		F: histories.Sell, Key: p.Key, Qty: p.Qty, Order: p.Order, Customer: p.Customer, Work: int64(p.Work), Final: c.final,
	})
	k.till.Sell, k.till.Final = op, c.final
	r, err := k.spec.Of.Sale(ctx, k.till, p)
	end(completion(r, err))
	return err
}

// completion is how a sale that answered r and err ended.
func completion(r stock.Receipt, err error) histories.Event {
	switch {
	case err == nil:
		return histories.Event{Type: histories.OK, Left: r.Left, Replay: r.Replay}
	case stock.Unknown(err):
		return histories.Event{Type: histories.Info, Error: err.Error()}
	case errors.Is(err, stock.ErrSoldOut):
		return histories.Event{Type: histories.Fail, Error: histories.SoldOut, Seen: r.Seen}
	case errors.Is(err, env.ErrBusy):
		return histories.Event{Type: histories.Fail, Error: histories.Busy}
	}
	return histories.Event{Type: histories.Fail, Error: err.Error()}
}
