package checker_test

import (
	"fmt"
	"strconv"

	"github.com/lockcheck/lockcheck/histories"
)

// What the workers of the physical world do: they sell, restock and cancel.

func (l *life) op() int64 {
	l.ops++
	return l.ops
}

func (l *life) live() {
	for i := range l.sells {
		l.wait(l.short() + ms)
		l.sell(i)
		if l.chance(l.restocks) {
			l.restock()
		}
	}
}

func (l *life) restock() {
	key, op := sku(l.rand.IntN(l.skus)), l.op()
	l.event(l.p, histories.Invoke, histories.Restock, op, fmt.Sprintf(`,"key":%q,"qty":2`, key))
	r := l.request(func() reply {
		l.left[key] += 2
		l.restocked[key] += 2
		return reply{kind: histories.OK, rest: fmt.Sprintf(`,"left":%d`, l.left[key])}
	})
	l.event(l.p, r.kind, histories.Restock, op, r.rest)
}

// ticket is one sale under way.
type ticket struct {
	*life
	id           int64
	sku, lock    string
	order, owner string
	qty          int64
	held         *belief
	tokens       []string // of the acquires not yet released, outermost first
	over         bool     // the renewals stop
}

func (l *life) sell(i int) {
	t := &ticket{life: l, id: l.op(), sku: sku(l.rand.IntN(l.skus)), qty: 1}
	t.lock = lockOf(t.sku)
	t.owner = fmt.Sprintf("%d.%d.%d", l.p, l.n, i)
	t.order = "o" + t.owner
	if l.chance(10) {
		t.qty = 2
	}
	l.sellOf[t.id], l.keys[t.id] = t.id, t.lock
	l.event(l.p, histories.Invoke, histories.Sell, t.id, fmt.Sprintf(`,"key":%q,"qty":%d,"order":%q`, t.sku, t.qty, t.order))
	kind, rest := t.run()
	t.over = true
	l.event(l.p, kind, histories.Sell, t.id, rest)
}

const saidBusy = `,"error":"busy"`

func (t *ticket) run() (histories.Type, string) {
	locked := !t.strikes(skipsLock)
	if !locked {
		t.struck[t.sku] = true
	}
	if locked && !t.acquireAll() {
		return histories.Fail, saidBusy
	}
	t.read()
	t.work()
	if t.held != nil && t.held.until > 0 && t.now >= t.held.until && t.flaw != outlivesLease {
		t.releaseAll()
		return histories.Fail, saidBusy
	}
	if t.strikes(releasesEarly) {
		t.releaseAll()
	}
	kind, rest := t.write()
	t.wait(t.short())
	t.releaseAll()
	return kind, rest
}

// acquireAll takes the lock, a reentrant one sometimes twice.
func (t *ticket) acquireAll() bool {
	for range 1 + t.rand.IntN(6) {
		switch t.acquire("") {
		case histories.OK:
			if t.reentrant && t.chance(30) {
				t.acquire("/2")
			}
			return true
		case histories.Info:
			return false
		}
		t.wait(t.short() + 20*ms)
	}
	return false
}

func (t *ticket) acquire(suffix string) histories.Type {
	op, token, sent := t.op(), t.owner+suffix, t.now
	t.asked[t.id] = true
	t.event(t.p, histories.Invoke, histories.Acquire, op, fmt.Sprintf(`,"parent":%d,"key":%q`, t.id, t.lock))
	t.sellOf[op] = t.id
	r := t.request(func() reply { return t.grant(op, t.life, t.lock, token, t.owner) })
	if r.kind == histories.OK && t.deadline {
		r.rest += `,"until":` + strconv.FormatInt(sent+t.ttl, 10)
	}
	t.event(t.p, r.kind, histories.Acquire, op, r.rest)
	switch r.kind {
	case histories.OK:
		t.tokens = append(t.tokens, token)
		t.believe(sent)
	case histories.Info: // it may have been granted: give it back
		t.release(token)
	}
	return r.kind
}

func (t *ticket) believe(sent int64) {
	if t.held == nil || t.held.to > 0 {
		t.held = &belief{process: t.p, sell: t.id, from: t.now}
		t.holds[t.id] = t.held
		t.hold = t.held
		if t.renew {
			t.at(t.now+t.ttl/3, t.p, t.renewal(t.held))
		}
	}
	if t.deadline {
		t.held.until = max(t.held.until, sent+t.ttl)
		if t.held.until <= t.now {
			t.endBelief(t.held.until)
		}
	}
}

// renewal is one step of the background task that renews the lease.
func (t *ticket) renewal(b *belief) func() {
	return func() {
		if t.dead || t.over || b.to > 0 {
			return
		}
		op, sent := t.op(), t.now
		token := t.owner
		t.event(t.p, histories.Invoke, histories.Extend, op, fmt.Sprintf(`,"key":%q,"token":%q`, t.lock, token))
		again := func() { t.at(t.now+t.ttl/3, t.p, t.renewal(b)) }
		t.at(t.now+t.short(), -1, func() {
			r := t.prolong(op, t.life, t.lock, token, t.owner)
			wait := t.short()
			if r.kind == histories.Info || t.chance(t.lost) {
				r, wait = noReply, 50*ms
			}
			t.at(t.now+wait, t.p, func() {
				if t.dead {
					return
				}
				if r.kind == histories.OK && t.deadline {
					r.rest += `,"until":` + strconv.FormatInt(sent+t.ttl, 10)
					if sent > b.until {
						b.lapsed = append(b.lapsed, b.until)
					}
					if b.to == 0 || sent <= b.until { // asked for in time: unbroken
						b.until = max(b.until, sent+t.ttl)
					}
				}
				t.event(t.p, r.kind, histories.Extend, op, r.rest)
				again()
			})
		})
	}
}

func (t *ticket) read() {
	op := t.op()
	t.event(t.p, histories.Invoke, histories.Read, op, fmt.Sprintf(`,"parent":%d,"key":%q`, t.id, t.sku))
	r := t.request(func() reply {
		return reply{kind: histories.OK, rest: fmt.Sprintf(`,"value":%d`, t.left[t.sku])}
	})
	t.event(t.p, r.kind, histories.Read, op, r.rest)
}

func (t *ticket) work() {
	d := t.short()
	if t.chance(t.long) {
		d = max(t.ttl, 100*ms) * t.rand.Int64N(20) / 10
	}
	t.wait(d)
}

func (t *ticket) write() (histories.Type, string) {
	unsure := false
	for {
		op := t.op()
		t.sellOf[op] = t.id
		t.event(t.p, histories.Invoke, histories.Write, op, fmt.Sprintf(`,"parent":%d,"key":%q,"qty":%d`, t.id, t.sku, t.qty))
		r := t.request(func() reply { return t.sellOne(op, t.id, t.sku, t.order, t.qty) })
		t.event(t.p, r.kind, histories.Write, op, r.rest)
		if r.kind == histories.OK && t.flaw == halfSale {
			t.wait(t.short() + ms)
			t.orders[t.sku] = append(t.orders[t.sku], histories.Order{ID: t.order, Qty: t.qty})
		}
		switch {
		case r.kind == histories.OK && r.again:
			t.promise()
			return histories.OK, "" // it counts once, and how many were left then nobody remembers
		case r.kind == histories.OK:
			t.promise()
			return r.kind, fmt.Sprintf(`,"left":%d`, r.left)
		case r.kind == histories.Fail && unsure:
			return histories.Info, noReply.rest
		case r.kind == histories.Fail:
			return r.kind, fmt.Sprintf(`,"error":"sold-out","seen":%d`, r.left)
		case !t.retries || t.held != nil && t.held.until > 0 && t.now >= t.held.until:
			return histories.Info, noReply.rest
		}
		unsure = true
	}
}

func (t *ticket) promise() { t.accepted[t.sku][t.order] = true }

func (t *ticket) releaseAll() {
	for len(t.tokens) > 0 {
		last := t.tokens[len(t.tokens)-1]
		t.tokens = t.tokens[:len(t.tokens)-1]
		t.release(last)
	}
}

func (t *ticket) release(token string) {
	if t.held != nil && t.held.to == 0 && len(t.tokens) == 0 {
		t.endBelief(t.now)
	}
	op := t.op()
	t.event(t.p, histories.Invoke, histories.Release, op, fmt.Sprintf(`,"parent":%d,"key":%q,"token":%q`, t.id, t.lock, token))
	r := t.request(func() reply { return t.free(op, t.lock, token, t.owner) })
	t.event(t.p, r.kind, histories.Release, op, r.rest)
}
