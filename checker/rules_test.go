package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

var withLease = histories.LockSpec{TTL: 1000e6, Grace: 500e6, Deadline: true}

// Each rule at its edge: the harmless reading that keeps it quiet, and the
// step further that does not.
func TestRulesAtTheirEdges(t *testing.T) {
	valid := map[string]string{"verdict": "valid"}
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"double-hold: three at once are two grants too many": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(1, "acquire", "ok", 10, 12, until(1010)).op(2, "acquire", "ok", 20, 22, until(1020)).
				op(0, "release", "fail", 100, 101, failed("not the owner")).op(1, "release", "fail", 110, 111, failed("not the owner")).op(2, "release", "ok", 120, 121),
			map[string]string{"double-hold": "1,2,2,3"},
		},
		"double-hold: the same worker twice is no double hold": {
			tell(histories.LockSpec{Reentrant: true}).op(0, "acquire", "ok", 0, 2).op(0, "acquire", "ok", 10, 12).op(0, "release", "ok", 20, 21).op(0, "release", "ok", 30, 31),
			valid,
		},
		"foreign-release: after a failover both release their own": {
			tell(histories.LockSpec{TTL: 1000e6}).op(0, "acquire", "ok", 0, 2).mark(histories.Nemesis, "kill", 10, targeting("redis-1")).mark(histories.Nemesis, "promoted", 50, targeting("redis-2")).
				op(1, "acquire", "ok", 60, 62).op(1, "release", "ok", 70, 72).op(0, "release", "fail", 100, 101, failed("not the owner")),
			map[string]string{"double-hold": "1,2"},
		},
		"foreign-release: an unknown acquire may have been there to release": {
			tell(withLease).op(0, "acquire", "info", 0, 50).op(1, "acquire", "ok", 10, 12, until(1010)).op(0, "release", "fail", 60, 62, failed("not the owner")).op(1, "release", "ok", 100, 101),
			valid,
		},
		"foreign-release: its own lease is over, and the other holds": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).op(1, "acquire", "ok", 1005, 1008, token("b"), until(2005)).op(0, "release", "ok", 1010, 1012, token("a")).op(1, "release", "fail", 1100, 1101, token("b"), failed("not the owner")),
			map[string]string{"foreign-release": "3"},
		},
		"foreign-release: a skewed server may have kept its lease": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).mark(histories.Nemesis, "skew", 10, targeting("redis-1")).mark(histories.Nemesis, "promoted", 20, targeting("redis-2")).
				op(1, "acquire", "ok", 1005, 1008, token("b"), until(2005)).op(0, "release", "ok", 1010, 1012, token("a")).op(1, "release", "fail", 1100, 1101, token("b"), failed("not the owner")),
			map[string]string{"lock-not-linearizable": "2,1,3,4"},
		},
		"foreign-release: granted to another at the very instant of the call": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).op(0, "release", "ok", 1010, 1012, token("a")).op(1, "acquire", "ok", 1010, 1010, token("b"), until(2005)).op(1, "release", "fail", 1100, 1101, token("b"), failed("not the owner")),
			map[string]string{"foreign-release": "2"},
		},
		"foreign-release: an unknown acquire on the old master, released after a lock on the new one": {
			tell(withLease).op(0, "acquire", "info", 0, 50, token("a")).mark(histories.Nemesis, "promoted", 60, targeting("redis-2")).
				op(0, "acquire", "ok", 170, 172, token("b"), until(300)).op(0, "release", "ok", 180, 181, token("b")).
				op(1, "acquire", "ok", 200, 202, token("c"), until(900)).op(0, "release", "ok", 300, 301, token("a")).op(1, "release", "ok", 400, 401, token("c")),
			map[string]string{"lock-not-linearizable": "4,1,5,6"},
		},
		"foreign-release: the second of two releases of a reentrant lock": {
			tell(histories.LockSpec{TTL: 1000e6, Reentrant: true}).op(0, "acquire", "ok", 0, 1, token("a")).op(0, "acquire", "ok", 2, 3, token("a")).op(0, "release", "ok", 10, 11, token("a")).
				op(1, "acquire", "ok", 20, 22, token("b")).op(0, "release", "ok", 30, 31, token("a")).op(1, "release", "ok", 40, 41, token("b")),
			map[string]string{"double-hold": "1,4"},
		},
		"foreign-release: a delay hits no server": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).mark(histories.Nemesis, "delay", 510, targeting("redis-1")).
				op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).op(0, "release", "ok", 600, 601, token("a")).op(1, "release", "ok", 700, 701, token("b")),
			map[string]string{"foreign-release": "3"},
		},
		"lease-gap: granted to another inside the lease is a double hold": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).op(1, "acquire", "ok", 500, 508, token("b"), until(1500)).op(1, "release", "ok", 510, 511, token("b")).op(0, "extend", "ok", 600, 602, token("a"), until(1600)).op(0, "release", "ok", 700, 701, token("a")),
			map[string]string{"double-hold": "1,2"},
		},
		"lease-gap: nobody else was there": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "extend", "ok", 1500, 1502, until(2500)).op(0, "release", "ok", 1600, 1601),
			valid,
		},
		"lease-gap: the other came before the last renewal": {
			tell(withLease).op(1, "acquire", "ok", 0, 1, until(1000)).op(1, "release", "ok", 5, 6).op(0, "acquire", "ok", 10, 12, until(1010)).op(0, "extend", "ok", 1500, 1502, until(2500)).op(0, "release", "ok", 1600, 1601),
			valid,
		},
		"lease-gap: while the old master goes on, its lease may too": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).mark(histories.Nemesis, "partition", 5, targeting("redis-1")).op(1, "acquire", "ok", 1005, 1008, until(2005)).op(1, "release", "ok", 1010, 1011).
				op(0, "extend", "ok", 1001, 1020, until(2001)).op(0, "release", "ok", 1600, 1601),
			valid,
		},
		"lease-gap: two masters, and a lease that is not over": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).mark(histories.Nemesis, "partition", 5, targeting("redis-1")).
				op(1, "acquire", "ok", 500, 508, token("b"), until(1500)).op(1, "release", "ok", 510, 511, token("b")).op(0, "extend", "ok", 600, 602, until(1600)),
			map[string]string{"double-hold": "1,2"},
		},
		"lease-gap: a renewal that comes after its own release, and takes the lock anew": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "ok", 10, 12).op(1, "acquire", "ok", 15, 18, until(1015)).op(1, "release", "ok", 20, 21).
				op(0, "extend", "ok", 30, 32, until(1030)),
			map[string]string{"lease-gap": "5"},
		},
		"lease-gap: what was renewed may be a later grant of unknown outcome": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(1000)).op(1, "acquire", "ok", 1005, 1008, token("b"), until(2005)).op(1, "release", "ok", 1010, 1011, token("b")).
				op(0, "acquire", "info", 1020, 1070).op(0, "extend", "ok", 1080, 1082, until(2080)),
			valid,
		},
		"fence-regression: writes that touch may come in either order": {
			tell(histories.LockSpec{Fenced: true}).op(0, "write", "ok", 0, 10, fence(7)).op(1, "write", "ok", 10, 13, fence(6)),
			valid,
		},
		"fence-regression: grants that touch may come in either order": {
			tell(histories.LockSpec{Fenced: true}).op(0, "acquire", "ok", 0, 10, fence(2)).op(0, "release", "ok", 10, 11).op(1, "acquire", "info", 10, 12).op(2, "acquire", "ok", 10, 13, fence(3)).op(2, "release", "ok", 20, 21),
			valid,
		},
		"fence-regression: two grants at once with one number": {
			tell(histories.LockSpec{Fenced: true, TTL: 5e6}).op(0, "acquire", "ok", 0, 10, fence(2), until(5)).op(1, "acquire", "ok", 0, 11, fence(2), until(5)),
			map[string]string{"fence-regression": "2"},
		},
		"fence-regression: a holder's second grant of a reentrant lock keeps its number": {
			tell(histories.LockSpec{Fenced: true, Reentrant: true}).op(0, "acquire", "ok", 0, 1, fence(2)).op(0, "acquire", "ok", 5, 6, fence(2)).op(0, "release", "ok", 7, 8).op(0, "release", "ok", 9, 10),
			valid,
		},
		"fence-regression: the store took a smaller number": {
			tell(histories.LockSpec{Fenced: true}).op(0, "write", "ok", 0, 1, fence(7)).op(1, "write", "ok", 2, 3, fence(6)),
			map[string]string{"fence-regression": "2"},
		},
		"fence-regression: the store refused it": {
			tell(histories.LockSpec{Fenced: true}).op(0, "write", "ok", 0, 1, fence(7)).op(1, "write", "fail", 2, 3, fence(6)).op(1, "write", "ok", 4, 5, fence(7)),
			valid,
		},
		"stuck-lock: busy within ttl and grace": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).op(1, "acquire", "fail", 1400, 1402, failed("busy")).op(1, "acquire", "ok", 1505, 1507, until(2505)).op(1, "release", "ok", 1510, 1512),
			valid,
		},
		"stuck-lock: busy beyond them": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).op(1, "acquire", "fail", 1506, 1508, failed("busy")),
			map[string]string{"stuck-lock": "1"},
		},
		"stuck-lock: a server was away": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "kill", 10, targeting("redis-1")).op(1, "acquire", "fail", 1700, 1702, failed("busy")).
				mark(histories.Nemesis, "start", 1800, targeting("redis-1")).op(1, "acquire", "ok", 1900, 1902, until(2900)).op(1, "release", "ok", 2000, 2001),
			valid,
		},
		"stuck-lock: a lock without a ttl that promises a grace": {
			tell(histories.LockSpec{Grace: 500e6}).op(0, "acquire", "ok", 0, 2).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).op(1, "acquire", "fail", 506, 508, failed("busy")),
			map[string]string{"stuck-lock": "1"},
		},
		"stuck-lock: released as its sell was over": {
			tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6}).op(0, "sell", "fail", 0, 100).op(0, "acquire", "ok", 1, 2, parent(1), token("a")).op(0, "release", "ok", 100, 150, parent(1), token("a")).
				op(1, "acquire", "fail", 1620, 1622, failed("busy")).op(1, "acquire", "ok", 1700, 1702, token("b")).op(1, "release", "ok", 1710, 1711, token("b")),
			valid,
		},
		"stuck-lock: a server is killed, and all is healthy at last": {
			tell(withLease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "kill", 10, targeting("redis-1")).mark(histories.Nemesis, "healthy", 20).op(1, "acquire", "fail", 2000, 2002, failed("busy")),
			map[string]string{"stuck-lock": "1"},
		},
		"stuck-lock: a server is killed, and not healthy at last": {
			tell(withLease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "kill", 10, targeting("redis-1")).mark(histories.Nemesis, "healthy", 20, func(e *histories.Event) { e.Error = "no answer" }).op(1, "acquire", "fail", 2000, 2002, failed("busy")),
			map[string]string{"verdict": "unknown"},
		},
		"stuck-lock: of two that may have had it to one moment, the one that asked last": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "release", "info", 50, 100, token("a")).op(2, "acquire", "info", 60, 100, token("c")).op(1, "acquire", "fail", 2000, 2002, failed("busy")),
			map[string]string{"stuck-lock": "3"},
		},
		"stuck-lock: one of two cut servers is healed": {
			tell(withLease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "partition", 10, targeting("redis-1")).mark(histories.Nemesis, "partition", 11, targeting("redis-2")).
				mark(histories.Nemesis, "heal", 20, targeting("redis-1")).op(1, "acquire", "fail", 2000, 2002, failed("busy")).mark(histories.Nemesis, "heal", 2010).op(1, "acquire", "ok", 2100, 2102).op(1, "release", "ok", 2110, 2111),
			valid,
		},
		"stuck-lock: all cut servers are healed": {
			tell(withLease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "partition", 10, targeting("redis-1")).mark(histories.Nemesis, "partition", 11, targeting("redis-2")).
				mark(histories.Nemesis, "heal", 20).op(1, "acquire", "fail", 2000, 2002, failed("busy")),
			map[string]string{"stuck-lock": "1"},
		},
		"stuck-lock: two who tried at once may have refused each other": {
			tell(withLease).op(0, "acquire", "fail", 5000, 5010, failed("busy")).op(1, "acquire", "fail", 5005, 5015, failed("busy")),
			valid,
		},
		"stuck-lock: not for so long": {
			tell(withLease).op(0, "acquire", "fail", 2000, 2010, failed("busy")).op(1, "acquire", "fail", 2005, 2015, failed("busy")).op(0, "acquire", "fail", 2900, 2910, failed("busy")).op(1, "acquire", "fail", 2905, 2915, failed("busy")).
				op(0, "acquire", "fail", 3600, 3610, failed("busy")).op(1, "acquire", "fail", 3605, 3615, failed("busy")),
			map[string]string{"stuck-lock": ""},
		},
		"stuck-lock: the lock promises no bound": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1, token("a")).op(0, "release", "ok", 2, 3, token("a")).op(0, "acquire", "fail", 9000, 9010, failed("busy")),
			valid,
		},
		"stuck-lock: too short to tell": {
			tell(withLease).op(0, "acquire", "info", 0, 100).op(1, "acquire", "fail", 200, 210, failed("busy")),
			map[string]string{"verdict": "unknown"},
		},
		"stale-write: in the instant of the deadline": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "ok", 1000, 1100, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: in the instant of a second grant": {
			tell(withLease).op(0, "sell", "ok", 0, 1300, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(500)).
				op(0, "acquire", "ok", 1090, 1095, parent(1), until(2000)).op(0, "write", "ok", 1095, 1100, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: after a release with a token, of a grant without one, beside an acquire in doubt": {
			tell(withLease).op(0, "sell", "ok", 0, 1300, orderID("a"), left(0)).op(0, "acquire", "info", 1, 2, parent(1)).op(0, "acquire", "ok", 5, 6, parent(1)).
				op(0, "release", "ok", 10, 11, parent(1), token("x")).op(0, "write", "ok", 20, 21, parent(1)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "5"},
		},
		"stale-write: after the deadline": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "ok", 1001, 1100, parent(1)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "3"},
		},
		"stale-write: by a token that was still the newest": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000), fence(5)).op(0, "write", "ok", 1001, 1100, parent(1), fence(5)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: by a token that the store should have known to be old": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000), fence(5)).op(1, "acquire", "ok", 1001, 1002, until(2000), fence(6)).op(0, "write", "ok", 1003, 1100, parent(1), fence(5)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "4"},
		},
		"stale-write: by a token that is newer than that of a later answer": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(1, "acquire", "ok", 0, 1002, until(1), fence(4)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000), fence(5)).op(0, "write", "ok", 1003, 1100, parent(1), fence(5)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: by the token of another grant": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000), fence(5)).op(0, "write", "ok", 1001, 1100, parent(1), fence(4)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "3"},
		},
		"stale-write: the lease was renewed": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "extend", "ok", 900, 910, until(1900)).op(0, "write", "ok", 1001, 1100, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: another lock of the sell is still held": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).
				op(0, "acquire", "ok", 500, 502, parent(1), until(1500), func(op *histories.Op) { op.Key = "stock:sku-2" }).op(0, "write", "ok", 1001, 1100, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: a killed worker may write in the instant after the mark": {
			tell(withLease).op(0, "sell", "info", 0, -1, orderID("a")).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).mark(histories.Nemesis, "kill", 10, targeting("worker-0")).op(0, "write", "ok", 11, 12, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: of unknown outcome, and the order is there": {
			tell(withLease).op(0, "sell", "info", 0, 1200, orderID("a")).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "info", 1001, 1100, parent(1)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "3"},
		},
		"stale-write: of unknown outcome, and it never acted": {
			tell(withLease).op(0, "sell", "info", 0, 1200, orderID("a")).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "info", 1001, 1100, parent(1)).audit(3000, 1),
			valid,
		},
		"stale-write: of unknown outcome, and made good by a second one": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a")).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "ok", 900, 910, parent(1)).op(0, "write", "info", 1001, 1100, parent(1)).audit(3000, 0, "a"),
			valid,
		},
		"stale-write: a replay writes nothing": {
			tell(withLease).op(0, "sell", "ok", 0, 1200, orderID("a")).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "write", "ok", 1001, 1100, parent(1), func(op *histories.Op) { op.Replay = true }).audit(3000, 0, "a"),
			valid,
		},
		"lock-not-linearizable: a clean-up under an owner used again may end the lock that was held already": {
			tell(histories.LockSpec{TTL: 5e9}).op(0, "acquire", "ok", 0, 2, token("w0#1")).op(0, "acquire", "info", 3, 1000).op(0, "release", "ok", 1001, 1002, token("w0#2")).op(0, "release", "fail", 1003, 1004, token("w0#1"), failed("not the owner")),
			valid,
		},
		"lock-not-linearizable: a janitor deleted it, after another had been granted it": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "release", "fail", 5, 20, token("a"), failed("not the owner")).op(2, "break", "ok", 15, 16, token("a")).op(1, "acquire", "ok", 7, 8, token("b")).op(1, "release", "ok", 9, 10, token("b")),
			map[string]string{"lock-not-linearizable": "1,4,5"},
		},
		"lock-not-linearizable: a janitor had deleted it": {
			tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(2, "break", "ok", 10, 12, token("a")).op(0, "release", "fail", 20, 21, token("a"), failed("not the owner")).op(1, "release", "fail", 30, 31, token("b"), failed("not the owner")),
			valid,
		},
		"lock-not-linearizable: under an owner of its own it may not": {
			tell(histories.LockSpec{TTL: 5e9}).op(0, "acquire", "ok", 0, 2, token("x#1")).op(0, "acquire", "info", 3, 1000).op(0, "release", "ok", 1001, 1002, token("y#2")).op(0, "release", "fail", 1003, 1004, token("x#1"), failed("not the owner")),
			map[string]string{"lock-not-linearizable": "1,2,3,4"},
		},
		"death: the inner grant of a nested lock dies with its worker": {
			tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6, Reentrant: true}).op(0, "acquire", "ok", 0, 2, token("a#1")).op(0, "acquire", "ok", 3, 4, token("a#2")).mark(histories.Nemesis, "kill", 10, targeting("worker-0")).
				op(1, "acquire", "ok", 1010, 1012, token("b#3")).op(1, "release", "ok", 1020, 1021, token("b#3")),
			valid,
		},
		"death: who is caught in an ambush dies when it falls silent": {
			tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6}).mark(histories.Nemesis, "crash", 0, targeting("worker-0"), ambushAt("before-release")).op(0, "acquire", "ok", 100, 102).op(0, "read", "ok", 110, 112).
				op(1, "acquire", "ok", 1110, 1112).op(1, "release", "ok", 1120, 1121),
			valid,
		},
		"death: an ambush that nobody came to kills nobody": {
			tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6}).op(0, "acquire", "ok", 100, 102).mark(histories.Nemesis, "crash", 105, ambushAt("before-expire")).
				op(1, "acquire", "ok", 1110, 1112).op(0, "release", "fail", 1115, 1116, failed("not the owner")).op(1, "release", "ok", 1120, 1121),
			map[string]string{"double-hold": "1,2"},
		},
		"stale-write: told that the lock is lost, and wrote": {
			tell(withLease).op(0, "sell", "ok", 0, 100, orderID("a"), left(0)).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).mark(0, "lost", 50).op(0, "write", "ok", 60, 70, parent(1)).audit(3000, 0, "a"),
			map[string]string{"stale-write": "3"},
		},
		"stale-write: the design has no lock": {
			tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 100, orderID("a"), left(0)).op(0, "write", "ok", 60, 70, parent(1)).audit(3000, 0, "a"),
			valid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.story.h.Header.Initial = 1
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("wanted and blamed differ (-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}

func ambushAt(step string) func(*histories.Event) {
	return func(e *histories.Event) {
		e.Fault = &histories.Fault{F: e.F, Targets: []string{"worker-0"}, Step: step}
	}
}

func TestBooksAtTheirEdges(t *testing.T) {
	valid := map[string]string{"verdict": "valid"}
	replay := func(op *histories.Op) { op.Replay = true }
	whole := func(op *histories.Op) { op.Whole = true }
	none := histories.LockSpec{None: true}
	for name, c := range map[string]struct {
		initial int64
		story   *story
		want    map[string]string
	}{
		"a restock is there to be sold":                       {1, tell(none).op(0, "restock", "ok", 0, 1).op(0, "sell", "ok", 2, 3, orderID("a")).op(0, "sell", "ok", 4, 5, orderID("b")).audit(3000, 0, "a", "b"), valid},
		"a restock of unknown outcome may be there":           {1, tell(none).op(0, "restock", "info", 0, 1).op(0, "sell", "ok", 2, 3, orderID("a")).op(0, "sell", "ok", 4, 5, orderID("b")).audit(3000, 0, "a", "b"), valid},
		"a restock that left what was there and its units":    {1, tell(none).op(0, "restock", "ok", 0, 1, qty(2), left(3)).audit(3000, 3), valid},
		"a restock that left more":                            {1, tell(none).op(0, "restock", "ok", 0, 1, qty(2), left(4)).audit(3000, 3), map[string]string{"stock-not-linearizable": "1"}},
		"two at a time, one of which saw the other":           {1, tell(none).op(0, "restock", "ok", 0, 3, left(3)).op(1, "restock", "ok", 1, 2, left(2)).audit(3000, 3), valid},
		"two at a time that did not see each other":           {1, tell(none).op(0, "restock", "ok", 0, 3, left(2)).op(1, "restock", "ok", 1, 2, left(2)).audit(3000, 3), map[string]string{"stock-not-linearizable": "2,1"}},
		"a cancel that left its unit":                         {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), left(0)).op(0, "cancel", "ok", 2, 3, orderID("a"), left(1)).audit(3000, 1), valid},
		"a cancel that left none":                             {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), left(0)).op(0, "cancel", "ok", 2, 3, orderID("a"), left(0)).audit(3000, 1), map[string]string{"stock-not-linearizable": "1,2"}},
		"a cancelled order's unit can be sold again":          {1, tell(none).op(0, "sell", "ok", 2, 3, orderID("a")).op(0, "cancel", "ok", 4, 5, orderID("a")).op(0, "sell", "ok", 6, 7, orderID("b")).audit(3000, 0, "b"), valid},
		"an order counts once, however often it was accepted": {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), left(0)).op(0, "sell", "ok", 2, 3, orderID("a"), left(0), replay).audit(3000, 0, "a"), valid},
		"a cancelled order whose unit did not come back": {3, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "ok", 2, 3, orderID("a"), whole).audit(3000, 2),
			map[string]string{"stock-mismatch": ""}},
		"quantities count": {3, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), qty(2)).op(1, "sell", "ok", 0, 2, orderID("b"), qty(2)).audit(3000, -1, "a", "b").rowsOf(2),
			map[string]string{"oversell": "2", "stock-not-linearizable": "1,2"}},
		"rows that name no quantity are of what was sold": {3, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), qty(2)).audit(3000, 1, "a").rowsOf(0), valid},
		"a row decides for how many an order was":         {3, tell(none).op(0, "sell", "info", 0, 1, orderID("a"), qty(5)).audit(3000, 1, "a").rowsOf(2), valid},
		"a replay may have asked for more":                {3, tell(none).op(0, "sell", "info", 0, 1, orderID("a"), qty(3)).op(0, "sell", "ok", 2, 3, orderID("a"), qty(5), replay), valid},
		"and the sell before it for more than it":         {3, tell(none).op(0, "sell", "info", 0, 1, orderID("a"), qty(3)).op(0, "sell", "ok", 2, 3, orderID("a"), replay).audit(3000, 0), valid},
		"rows without an order id are no duplicates":      {2, tell(none).op(0, "sell", "ok", 0, 1).op(0, "sell", "ok", 2, 3).audit(3000, 0, "", ""), valid},
		"nor are those that the store named itself":       {2, tell(none).op(0, "sell", "ok", 0, 1).op(0, "sell", "ok", 2, 3).audit(3000, 0, "x", "y"), valid},
		"a row of nobody counts as sold":                  {1, tell(none).op(0, "sell", "ok", 0, 1).audit(3000, -1, "x", "y"), map[string]string{"oversell": ""}},
		"a sale after the audit is not in it":             {3, tell(none).op(0, "sell", "ok", 3001, 3002).op(0, "sell", "ok", 3003, 3004, orderID("a")).audit(3000, 2, "x"), valid},
		"a cancel after it is not either":                 {3, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "ok", 3003, 3004, orderID("a")).audit(3000, 2, "x"), map[string]string{"stock-mismatch": "1"}},
		"a cancel that names no order puts its unit back": {1, tell(none).op(0, "sell", "ok", 0, 1).op(0, "cancel", "ok", 2, 3).op(0, "sell", "ok", 4, 5).audit(3000, 0), valid},
		"cancelled twice in a row may have been once":     {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "ok", 2, 3, orderID("a")).op(0, "cancel", "ok", 4, 5, orderID("a")).audit(3000, 1), valid},
		"cancelled, and the unit is gone":                 {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "ok", 2, 3, orderID("a")).audit(3000, 0), map[string]string{"stock-mismatch": ""}},
		"a whole order of which nobody knows the size": {5, tell(none).op(0, "sell", "info", 0, 1, orderID("a"), qty(3)).op(0, "sell", "info", 2, 3, orderID("a"), qty(5)).op(0, "cancel", "ok", 4, 5, orderID("a"), whole).op(0, "read", "ok", 6, 7, value(2)),
			map[string]string{"verdict": "unknown"}},
		"cancelled, perhaps": {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "info", 2, 3, orderID("a")).audit(3000, 0), valid},
		"an unknown sell that is in the store was sold": {1, tell(none).op(0, "sell", "info", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, -1, "a", "b"),
			map[string]string{"oversell": "2", "stock-not-linearizable": "1,2"}},
		"an unknown sell that is not was not":                          {1, tell(none).op(0, "sell", "info", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0, "b"), valid},
		"an unknown sell took stock, left no row, and can act no more": {2, tell(none).op(0, "sell", "info", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0, "b"), map[string]string{"stock-mismatch": "1"}},
		"an unknown sell took stock and may act until the audit":       {2, tell(none).op(0, "sell", "info", 0, 2900, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0, "b"), valid},
		"an unknown sell took stock; the audit lists no orders":        {2, tell(none).op(0, "sell", "info", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0), valid},
		"an unknown sell without an order id may have any row":         {2, tell(none).op(0, "sell", "info", 0, 1).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0, "b"), valid},
		"nobody may":                                             {2, tell(none).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 0, "b"), map[string]string{"stock-mismatch": ""}},
		"a read in doubt does not either":                        {2, tell(none).op(1, "sell", "ok", 0, 1, orderID("b")).op(0, "read", "info", 5, 6).audit(3000, 2, "b"), map[string]string{"stock-mismatch": ""}},
		"a replay alone is of what it asked for":                 {1, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), qty(2), replay), map[string]string{"oversell": "1"}},
		"a cancel gives back nothing that a replay did not take": {2, tell(none).op(1, "sell", "ok", 0, 1, orderID("b")).op(0, "cancel", "info", 2, 3, orderID("a")).op(0, "sell", "ok", 2990, 3010, orderID("a"), replay).audit(3000, 0, "b"), map[string]string{"stock-mismatch": ""}},
		"a replay takes none":                                    {2, tell(none).op(0, "sell", "info", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("a"), replay).audit(3000, 0, "a"), map[string]string{"stock-mismatch": "1"}},
		"an accepted order that the store forgot":                {2, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 1, "b"), map[string]string{"stock-mismatch": "1"}},
		"an audit without any orders counts the stock only":      {2, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).audit(3000, 1), valid},
		"and it must be right":                                   {2, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).audit(3000, 2), map[string]string{"stock-mismatch": ""}},
		"sells without order ids are counted by themselves":      {2, tell(none).op(0, "sell", "ok", 0, 1).op(0, "sell", "ok", 2, 3).audit(3000, 0), valid},
		"and can be too many":                                    {1, tell(none).op(0, "sell", "ok", 0, 1).op(0, "sell", "ok", 2, 3), map[string]string{"oversell": "2", "stock-not-linearizable": "1,2"}},
		"a sell that may act after the audit widens the books":   {2, tell(none).op(0, "sell", "info", 0, 2990, orderID("a")).audit(3000, 2, "a"), valid},
		"two ok sells of one order, and one row": {5, tell(none).op(0, "sell", "ok", 0, 1, orderID("a"), left(4)).op(1, "sell", "ok", 5, 6, orderID("a"), left(3)).audit(3000, 3, "a", "b"),
			map[string]string{"duplicate-order": "a"}},
		"sold, cancelled and sold again is no duplicate": {5, tell(none).op(0, "sell", "ok", 0, 1, orderID("a")).op(0, "cancel", "ok", 2, 3, orderID("a")).op(0, "sell", "ok", 5, 6, orderID("a")).audit(3000, 4, "a"), valid},
		"what was left proves that both acted":           {10, tell(none).op(0, "sell", "info", 0, 300, orderID("a")).op(0, "sell", "ok", 310, 320, orderID("a"), left(8)), map[string]string{"duplicate-order": "a"}},
		"what was left proves nothing":                   {10, tell(none).op(0, "sell", "info", 0, 300, orderID("a")).op(0, "sell", "ok", 310, 320, orderID("a"), left(9)), valid},
	} {
		t.Run(name, func(t *testing.T) {
			c.story.h.Header.Initial = c.initial
			c.story.h.Header.MaxDelay = 100e6
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("wanted and blamed differ (-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}

// rowsOf says for how many units the rows of the story's audits are.
func (s *story) rowsOf(qty int64) *story {
	for _, audit := range s.h.Audits {
		for i := range audit.Orders {
			audit.Orders[i].Qty = qty
		}
	}
	return s
}

// A row that was lost explains the unit that left the stock without one.
func TestALostOrderIsToldOnce(t *testing.T) {
	s := tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 1, orderID("a")).op(1, "sell", "ok", 5, 6, orderID("b")).audit(3000, 8, "b")
	s.h.Header.Initial = 10
	v := s.check()
	if len(v.Violations) != 1 || v.Violations[0].Units != 1 || v.Violations[0].Summary != "1 order of sku-1 that had been accepted is not in the store: a" {
		t.Error(told(v))
	}
}

func TestUnknownSellsAreSettledByTheAuditInACopy(t *testing.T) {
	s := tell(histories.LockSpec{None: true}).op(0, "sell", "info", 0, 1, orderID("there")).op(0, "sell", "info", 2, 3, orderID("not there")).
		op(0, "sell", "info", 4, 5, orderID("twice")).op(0, "sell", "ok", 6, 7, orderID("twice")).op(0, "sell", "info", 8, -1, orderID("never answered")).
		op(2, "sell", "info", 4, 5, orderID("lost")).op(2, "sell", "ok", 6, 7, orderID("lost")).
		op(1, "sell", "info", 10, 11, orderID("cancelled")).op(1, "cancel", "ok", 12, 13, orderID("cancelled")).op(1, "sell", "info", 3000, -1, orderID("at the audit")).audit(3000, 6, "there", "twice", "cancelled", "at the audit")
	s.h.Header.Initial = 10
	before := *s.history()
	before.Ops = append([]histories.Op(nil), before.Ops...)
	v := s.check()
	if v.Counts.Settled != 2 || v.Counts.StillOpen != 5 {
		t.Errorf("settled %d and left open %d, want 2 and 5", v.Counts.Settled, v.Counts.StillOpen)
	}
	if diff := cmp.Diff(before.Ops, s.h.Ops); diff != "" {
		t.Errorf("the history was changed:\n%s", diff)
	}
}
