package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// Edges that depend on how late a request may be, and on which side of an instant
// something lies. Requests may be late by half a second here.
func TestRulesAtTheEdgesOfTime(t *testing.T) {
	valid := map[string]string{"verdict": "valid"}
	stuck := map[string]string{"stuck-lock": "1"}
	lease := histories.LockSpec{TTL: 1000e6, Grace: 500e6}
	ambush := func(e *histories.Event) { e.Fault = &histories.Fault{F: "crash", Step: "before-write"} }
	dies := func() *story {
		return tell(lease).op(0, "acquire", "info", 0, -1).mark(histories.Nemesis, "kill", 2, targeting("worker-0"))
	}
	busyAt := func(s *story, p histories.Process, at int64) *story {
		return s.op(p, "acquire", "fail", at, at+3, failed("busy"))
	}
	ghost := func(release int64) *story {
		return tell(lease).op(0, "acquire", "info", 0, 50, token("a")).op(1, "acquire", "ok", 1200, 1202, token("b")).
			op(0, "release", "ok", release, release+2, token("a")).op(1, "release", "ok", 1900, 1902, token("b"))
	}
	landing := func(release int64) *story {
		return tell(lease).op(0, "acquire", "info", 0, 50, token("a")).op(0, "acquire", "ok", 200, 202, token("b")).op(0, "release", "ok", release, release+1, token("b")).
			op(1, "acquire", "ok", 700, 702, token("c")).op(0, "release", "ok", 800, 801, token("a")).op(1, "release", "ok", 900, 901, token("c"))
	}
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"stuck-lock: busy at the very end of ttl, grace and max-delay": {busyAt(dies(), 1, 2002), valid},
		"stuck-lock: busy just after it":                               {busyAt(dies(), 1, 2003), stuck},
		"stuck-lock: busy after ttl and grace, but a request may be late": {
			busyAt(dies(), 1, 1900).op(1, "acquire", "ok", 1950, 1952, token("b")).op(1, "release", "ok", 1960, 1961, token("b")), valid},
		"stuck-lock: two who try at once are told busy twice": {
			busyAt(busyAt(busyAt(busyAt(dies(), 1, 2100), 2, 2101), 1, 2200), 2, 2201).op(1, "acquire", "ok", 2300, 2302, token("b")).op(1, "release", "ok", 2310, 2311, token("b")), valid},
		"stuck-lock: three answers that go on for the bound": {
			busyAt(busyAt(busyAt(busyAt(dies(), 1, 100), 2, 101), 1, 2104), 2, 2105), stuck},
		"stuck-lock: three answers that do not": {
			busyAt(busyAt(busyAt(busyAt(dies(), 1, 500), 2, 501), 1, 2490), 2, 2491).op(1, "acquire", "ok", 2500, 2502, token("b")).op(1, "release", "ok", 2510, 2511, token("b")), valid},
		"stuck-lock: two answers that go on for the bound are too few": {
			busyAt(busyAt(dies(), 1, 100).op(2, "acquire", "fail", 2200, 2201, failed("could not connect")), 1, 2300).op(1, "acquire", "ok", 2400, 2402, token("b")).op(1, "release", "ok", 2410, 2411, token("b")), valid},
		"stuck-lock: a server is away, busy before the bound":             {busyAt(dies().mark(histories.Nemesis, "kill", 5, targeting("redis-1")), 1, 100), valid},
		"stuck-lock: a server is away, busy at the very end of the bound": {busyAt(dies().mark(histories.Nemesis, "kill", 5, targeting("redis-1")), 1, 2002), valid},
		"stuck-lock: a server is away, busy just after it": {
			busyAt(dies().mark(histories.Nemesis, "kill", 5, targeting("redis-1")), 1, 2003), map[string]string{"verdict": "unknown"}},
		"stuck-lock: renewed after a clean-up in doubt, for no sell": {
			busyAt(busyAt(busyAt(tell(lease).op(0, "acquire", "info", 0, 2).op(0, "acquire", "ok", 5, 6, token("a")).op(0, "release", "info", 10, 11, token("z")).
				op(0, "extend", "ok", 600, 602, token("a")).op(0, "extend", "ok", 1200, 1202, token("a")).op(0, "extend", "ok", 1800, 1802, token("a")), 1, 2100), 1, 2300), 1, 2500).
				op(0, "release", "ok", 2600, 2602, token("a")).op(1, "acquire", "ok", 2700, 2702, token("b")).op(1, "release", "ok", 2800, 2802, token("b")), valid},
		"foreign-release: at the very end of its lease, after a failover": {
			tell(lease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).mark(histories.Nemesis, "promoted", 510, targeting("redis-2")).
				op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).op(0, "release", "ok", 1002, 1003, token("a")).op(1, "release", "ok", 1100, 1101, token("b")),
			map[string]string{"lock-not-linearizable": "2,1,3,4"}},
		"foreign-release: just after it": {
			tell(lease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).mark(histories.Nemesis, "promoted", 510, targeting("redis-2")).
				op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).op(0, "release", "ok", 1003, 1004, token("a")).op(1, "release", "ok", 1100, 1101, token("b")),
			map[string]string{"foreign-release": "3"}},
		"foreign-release: the other gives it back as it is answered": {
			tell(lease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).op(1, "acquire", "ok", 1005, 1006, token("b"), until(1500)).
				op(0, "release", "ok", 1010, 1012, token("a")).op(1, "release", "ok", 1012, 1014, token("b")),
			map[string]string{"foreign-release": "3"}},
		"foreign-release: the other asked as it was granted": {
			tell(lease).op(0, "acquire", "ok", 0, 2, token("a"), until(5)).op(1, "acquire", "ok", 2, 6, token("b"), until(1000)).
				op(0, "release", "ok", 10, 11, token("a")).op(1, "release", "ok", 20, 21, token("b")),
			map[string]string{"foreign-release": "3"}},
		"stuck-lock: a server was never started again": {
			busyAt(tell(lease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "kill", 10, targeting("redis-1")), 1, 9000),
			map[string]string{"verdict": "unknown"}},
		"stuck-lock: a server was never started again, but the lock was had": {
			busyAt(tell(lease).op(0, "acquire", "ok", 0, 2).op(0, "release", "ok", 5, 6).mark(histories.Nemesis, "kill", 10, targeting("redis-1")), 1, 9000).
				op(1, "acquire", "ok", 9100, 9102).op(1, "release", "ok", 9200, 9201),
			valid},
		"stuck-lock: a queue serves a waiter that had died": {
			busyAt(tell(lease).op(1, "acquire", "ok", 0, 2, token("b")).op(0, "acquire", "info", 10, -1, token("a")).mark(histories.Nemesis, "kill", 20, targeting("worker-0")).op(1, "release", "ok", 50, 51, token("b")), 2, 2100),
			map[string]string{"stuck-lock": "2"}},
		"stuck-lock: one of two waiters that had died": {
			busyAt(tell(lease).op(1, "acquire", "ok", 0, 2, token("b")).op(0, "acquire", "info", 10, -1, token("a")).op(3, "acquire", "info", 11, -1, token("c")).mark(histories.Nemesis, "kill", 20, targeting("worker-0", "worker-3")).op(1, "release", "ok", 50, 51, token("b")), 2, 2100),
			stuck},
		"foreign-release: what an unknown acquire took may still be there":          {ghost(1549), map[string]string{"lock-not-linearizable": "2,1,3,4"}},
		"foreign-release: and may not any more":                                     {ghost(1551), map[string]string{"foreign-release": "3"}},
		"foreign-release: an unknown acquire may land as the next lock is released": {landing(550), map[string]string{"lock-not-linearizable": "4,1,5,6"}},
		"foreign-release: and not any more":                                         {landing(551), map[string]string{"foreign-release": "5"}},
		"foreign-release: after a failover the older lock may be on the old master": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).mark(histories.Nemesis, "promoted", 510, targeting("redis-2")).
				op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).op(0, "release", "ok", 600, 601, token("a")).op(1, "release", "ok", 700, 701, token("b")),
			map[string]string{"lock-not-linearizable": "2,1,3,4"}},
		"foreign-release: without one it cannot be": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).
				op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).op(0, "release", "ok", 600, 601, token("a")).op(1, "release", "ok", 700, 701, token("b")),
			map[string]string{"foreign-release": "3"}},
		"stuck-lock: three answers that go on for just the bound": {
			busyAt(busyAt(busyAt(busyAt(dies(), 1, 100), 2, 101), 1, 2102), 2, 2103).op(1, "acquire", "ok", 2200, 2202, token("b")).op(1, "release", "ok", 2210, 2211, token("b")), valid},
		"stuck-lock: the first of three answers as it becomes free": {busyAt(busyAt(busyAt(dies(), 1, 2), 1, 2006), 2, 2007), stuck},
		"foreign-release: a failover begins as it is answered": {
			tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(500)).op(1, "acquire", "ok", 520, 522, token("b"), until(1500)).
				op(0, "release", "ok", 600, 601, token("a")).mark(histories.Nemesis, "promoted", 601, targeting("redis-2")).op(1, "release", "ok", 700, 701, token("b")),
			map[string]string{"foreign-release": "3"}},
		"an ambush kills when its worker falls silent, not when it is laid": {
			tell(histories.LockSpec{TTL: 5e9}).mark(histories.Nemesis, "crash", 0, targeting("worker-0"), ambush).op(0, "acquire", "ok", 1, 2, token("a")).op(1, "acquire", "ok", 50, 52, token("b")).
				op(0, "sell", "info", 3, -1).op(0, "read", "ok", 100, 101).op(1, "release", "ok", 200, 201, token("b")),
			map[string]string{"double-hold": "1,2"}},
		"an ambush ends the hold of its worker": {
			tell(histories.LockSpec{TTL: 5e9}).mark(histories.Nemesis, "crash", 0, targeting("worker-0"), ambush).op(0, "acquire", "ok", 1, 2, token("a")).op(0, "sell", "info", 3, -1).
				op(1, "acquire", "ok", 50, 52, token("b")).op(1, "release", "ok", 200, 201, token("b")),
			valid},
	} {
		t.Run(name, func(t *testing.T) {
			c.story.h.Header.MaxDelay = 500e6
			c.story.h.Header.Initial = 5
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("wanted and blamed differ (-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}
