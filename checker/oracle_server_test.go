package checker_test

import (
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// The servers of the physical world: what a request does when it is executed.

// reply is what a server answers.
type reply struct {
	kind histories.Type
	rest string // further fields of the completion
	number
}

type number struct {
	left  int64
	again bool // the order had been taken before
}

var noReply = reply{kind: histories.Info, rest: `,"error":"timeout"`}

// request sends what act does to a server, and waits for its answer. The
// answer may get lost, and the request be late.
func (l *life) request(act func() reply) reply {
	if l.chance(l.lost) {
		switch {
		case l.chance(l.late):
			l.at(l.now+50*ms+l.rand.Int64N(l.maxDelay/ms+1)*ms, -1, func() { act() })
		case l.chance(50):
			l.at(l.now+l.short(), -1, func() { act() })
		}
		l.sleep(50 * ms)
		return noReply
	}
	var got reply
	l.at(l.now+l.short(), -1, func() {
		got = act()
		if got.kind == histories.Info {
			l.at(l.now+50*ms, l.p, l.resume) // nobody answers
			return
		}
		l.at(l.now+l.short(), l.p, l.resume)
	})
	l.park()
	return got
}

// current is the grant of a key that is in force.
func (w *world) current(key string) *granted {
	g := w.table[key]
	if g != nil && g.expires > 0 && g.expires <= w.now {
		w.drop(key, expired, g.expires)
		return nil
	}
	return g
}

func (w *world) drop(key string, how ending, at int64) {
	if g := w.table[key]; g != nil && g.end == inForce {
		g.end, g.endAt = how, at
	}
	delete(w.table, key)
	w.replicate(key)
}

// replicate tells the replica, some milliseconds later.
func (w *world) replicate(key string) {
	g, master := w.table[key], w.masters
	w.at(w.now+w.rand.Int64N(300)*ms, -1, func() {
		if w.masters == master {
			w.copied[key] = g
		}
	})
}

func (w *world) grant(op int64, l *life, key, token, owner string) reply {
	if w.down {
		return noReply
	}
	g := w.current(key)
	switch {
	case g != nil && w.reentrant && g.owner == owner:
		g.inside = append(g.inside, token)
		if w.ttl > 0 {
			g.expires = w.now + w.ttl
		}
		w.did[op] = executed{w.now, true, g}
		return reply{kind: histories.OK, rest: fmt.Sprintf(`,"token":%q`, token)}
	case g != nil && !w.strikes(grantsTwiceFlaw):
		w.busy[key] = append(w.busy[key], w.now)
		return reply{kind: histories.Fail, rest: `,"error":"busy"`}
	case g != nil:
		w.drop(key, overwrit, w.now)
		w.struck[key] = true
	}
	n := &granted{op: op, key: key, token: token, owner: owner, process: l.p, at: w.now}
	if w.ttl > 0 {
		n.expires = w.now + w.ttl
	}
	w.table[key] = n
	w.all = append(w.all, n)
	w.did[op] = executed{w.now, true, n}
	w.replicate(key)
	rest := fmt.Sprintf(`,"token":%q`, token)
	if w.fenced {
		if w.number[key] == 0 || !w.strikes(repeatsNumber) {
			w.number[key]++
		} else {
			w.struck[key] = true
		}
		rest += fmt.Sprintf(`,"fence":%d`, w.number[key])
	}
	return reply{kind: histories.OK, rest: rest}
}

func (w *world) free(op int64, key, token, owner string) reply {
	if w.down {
		return noReply
	}
	g := w.current(key)
	refusal := reply{kind: histories.Fail, rest: fmt.Sprintf(`,"error":%q`, histories.NotOwner)}
	w.turnAway(op, owner)
	switch {
	case g == nil:
		return refusal
	case g.owner != owner && !w.strikes(deletesAnyFlaw):
		return refusal
	case g.owner != owner:
		w.struck[key] = true
		w.drop(key, deleted, w.now)
	case w.strikes(refusesFlaw):
		w.struck[key] = true
		w.refused[op] = true
		return refusal
	case w.strikes(keepsForever):
		w.struck[key] = true
		g.owner, g.expires, g.end, g.endAt = "nobody", 0, released, w.now
	case slices.Contains(g.inside, token):
		g.inside = slices.DeleteFunc(g.inside, func(t string) bool { return t == token })
	case g.token != token:
		return refusal // its acquire never came
	default:
		w.drop(key, released, w.now)
	}
	w.did[op] = executed{w.now, true, g}
	return reply{kind: histories.OK}
}

func (w *world) prolong(op int64, l *life, key, token, owner string) reply {
	if w.down {
		return noReply
	}
	g := w.current(key)
	if g == nil && w.flaw == revivesFlaw {
		w.struck[key] = true
		g = &granted{op: op, key: key, token: token, owner: owner, process: l.p, at: w.now}
		w.table[key] = g
		w.all = append(w.all, g)
		w.replicate(key)
	}
	w.turnAway(op, owner)
	if g == nil || g.owner != owner || w.strikes(refusesFlaw) {
		w.refused[op] = g != nil && g.owner == owner
		return reply{kind: histories.Fail, rest: fmt.Sprintf(`,"error":%q`, histories.NotOwner)}
	}
	g.expires = w.now + w.ttl
	w.did[op] = executed{w.now, true, g}
	return reply{kind: histories.OK}
}

// failover kills the lock's master. An honest service has told its replica
// everything before it answered; a flawed one has not, or has none at all.
func (w *world) failover() {
	if w.down {
		return
	}
	w.faults, w.down = true, true
	w.away = append(w.away, w.now)
	old := fmt.Sprintf("redis-%d", w.masters)
	w.mark(histories.Kill, old)
	w.at(w.now+100*ms+w.rand.Int64N(300)*ms, -1, func() {
		w.down = false
		if w.flaw == startsEmpty {
			w.mark(histories.Start, old)
			w.forget(map[string]*granted{}, lostAtBoot)
			return
		}
		w.masters++
		if w.flaw == losesWrites {
			w.forget(w.copied, lostAtFail)
			w.copied = map[string]*granted{}
		}
		w.mark(histories.Promoted, fmt.Sprintf("redis-%d", w.masters))
	})
}

// forget leaves the lock server with what was kept.
func (w *world) forget(kept map[string]*granted, how ending) {
	for i := range w.skus {
		key := lockOf(sku(i))
		now, was := w.current(key), kept[key]
		if now == was {
			continue
		}
		w.struck[key] = true
		if now != nil {
			now.end, now.endAt = how, w.now
		}
		delete(w.table, key)
		if was != nil {
			back := *was // what had been given up is back until it lapses
			back.end = inForce
			w.table[key] = &back
			w.all = append(w.all, &back)
		}
	}
}

func lockOf(sku string) string { return "stock:" + sku }

// sellOne is the shop's transaction: units and order row, once for an order.
func (w *world) sellOne(op, sell int64, key, order string, qty int64) reply {
	for _, o := range w.orders[key] {
		if o.ID == order {
			return reply{kind: histories.OK, number: number{again: true}}
		}
	}
	if w.left[key] < qty && w.flaw != blindStore {
		return reply{kind: histories.Fail, rest: `,"error":"sold-out"`, number: number{left: w.left[key]}}
	}
	w.left[key] -= qty
	w.did[op] = executed{at: w.now, took: true}
	row := histories.Order{ID: order, Qty: qty}
	switch {
	case w.strikes(losesOrder):
		w.struck[key] = true
	case w.strikes(sellsDouble):
		w.struck[key] = true
		w.orders[key] = append(w.orders[key], row, row)
		w.left[key] -= qty
	case w.flaw == halfSale: // the worker writes the row itself
	default:
		w.orders[key] = append(w.orders[key], row)
	}
	if w.left[key] < 0 {
		w.struck[key] = true
	}
	return reply{kind: histories.OK, rest: fmt.Sprintf(`,"left":%d`, w.left[key]), number: number{left: w.left[key]}}
}
