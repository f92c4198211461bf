package checker

import (
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

func TestCausesAreToldWhereTheHistoryHasThem(t *testing.T) {
	open := histories.LockSpec{TTL: 10e9}
	fault := func(f histories.Fault) func(*histories.Event) {
		return func(e *histories.Event) { e.Fault = &f }
	}
	twoHold := func(s *story) *story {
		return s.op(0, "acquire", "ok", 0, 4, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).
			op(0, "release", "fail", 600, 604, token("a"), failed("not the owner")).op(1, "release", "ok", 620, 623, token("b"))
	}
	late := func(s *story) *story {
		s.h.Header.MaxDelay = 1e9
		return s
	}
	for name, c := range map[string]struct {
		story    *story
		property Property
		cause    Cause
		because  string // part of it
	}{
		"failover": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "promoted", 350, targeting("redis-2")),
			DoubleHold, LostAtFailover, "redis-1 killed at 0.050 s, redis-2 promoted at 0.350 s"},
		"an old master that still answers": {twoHold(tell(open)).mark(histories.Nemesis, "failover", -20, targeting("redis-1")).mark(histories.Nemesis, "promoted", -10, targeting("redis-2")).mark(histories.Nemesis, "demoted", 500, targeting("redis-1")),
			DoubleHold, LostAtFailover, "the old master went on answering until 0.500 s"},
		"an old master that was started again": {twoHold(tell(open)).mark(histories.Nemesis, "kill", -50, targeting("redis-1")).mark(histories.Nemesis, "promoted", -20, targeting("redis-2")).mark(histories.Nemesis, "start", -10, targeting("redis-1")),
			DoubleHold, LostAtFailover, "the old master went on answering"},
		"the old master is the one promoted before": {twoHold(tell(open)).mark(histories.Nemesis, "failover", -90, targeting("redis-1")).mark(histories.Nemesis, "promoted", -80, targeting("redis-2")).
			mark(histories.Nemesis, "failover", -20, targeting("redis-2")).mark(histories.Nemesis, "promoted", -10, targeting("redis-3")).mark(histories.Nemesis, "demoted", -5, targeting("redis-1")).mark(histories.Nemesis, "demoted", 500, targeting("redis-2")),
			DoubleHold, LostAtFailover, "redis-3 promoted at -0.010 s, the old master went on answering until 0.500 s"},
		"an old master that is dead explains nothing": {twoHold(tell(open)).mark(histories.Nemesis, "kill", -20, targeting("redis-1")).mark(histories.Nemesis, "promoted", -10, targeting("redis-2")),
			DoubleHold, CauseUnknown, ""},
		"split brain": {twoHold(tell(open)).mark(histories.Nemesis, "partition", 50, fault(histories.Fault{From: []string{"master", "half-workers"}, To: []string{"replicas"}})).mark(histories.Nemesis, "promoted", 350, targeting("redis-2")),
			DoubleHold, SplitBrain, "half-workers"},
		"split brain, seconds after the promotion": {twoHold(tell(open)).mark(histories.Nemesis, "partition", -50, fault(histories.Fault{From: []string{"master", "half-workers"}, To: []string{"replicas"}})).mark(histories.Nemesis, "promoted", -20, targeting("redis-2")).mark(histories.Nemesis, "heal", 900),
			DoubleHold, SplitBrain, "half-workers"},
		"restarted empty": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "start", 150, targeting("redis-1")),
			DoubleHold, RestartedEmpty, "was back at 0.150 s"},
		"clock": {twoHold(tell(open)).mark(histories.Nemesis, "skew", 50, targeting("redis-1"), fault(histories.Fault{F: "skew", Offset: 20e9})),
			DoubleHold, ClockJumped, "the clock of redis-1 jumped by 20s"},
		"eviction": {twoHold(tell(open)).mark(histories.Nemesis, "evict", 50, targeting("redis-1")),
			DoubleHold, Evicted, "redis-1 threw keys away"},
		"the holder's connection was cut, and the lock has no lease": {twoHold(tell(histories.LockSpec{})).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, ConnectionGone, "the connections of worker-0 to redis-1 were cut at 0.050 s"},
		"another's connection was cut": {twoHold(tell(histories.LockSpec{})).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-2"}, Mode: "connection"})),
			DoubleHold, CauseUnknown, ""},
		"the holder's connection was cut when another held the lock already": {twoHold(tell(histories.LockSpec{})).mark(histories.Nemesis, "kill", 450, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, CauseUnknown, ""},
		"the holder's connection was cut, and the lock has a lease": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, CauseUnknown, ""},
		"the holder's connection was cut, and a janitor may have deleted the lock": {twoHold(tell(histories.LockSpec{})).op(2, "break", "info", 20, 22, token("a")).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, CauseUnknown, ""},
		"the holder's connection was cut, and a janitor found nothing": {twoHold(tell(histories.LockSpec{})).op(2, "break", "fail", 20, 22, token("a"), failed("gone")).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, ConnectionGone, ""},
		"the holder's connection was cut, and a janitor came too late": {twoHold(tell(histories.LockSpec{})).op(2, "break", "ok", 500, 522, token("a")).mark(histories.Nemesis, "kill", 50, targeting("redis-1"), fault(histories.Fault{F: "kill", To: []string{"worker-0"}, Mode: "connection"})),
			DoubleHold, ConnectionGone, ""},
		"a release was on its way, of a lock without a lease": {tell(histories.LockSpec{}).op(2, "acquire", "ok", 0, 2, token("c")).op(2, "release", "ok", 10, 60, token("c")).
			op(0, "acquire", "ok", 20, 22, token("a")).op(1, "acquire", "ok", 50, 52, token("b")).op(0, "release", "ok", 80, 81, token("a")).op(1, "release", "ok", 90, 91, token("b")),
			DoubleHold, CauseUnknown, ""},
		"it died, and another renews what it has not": {tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6}).op(0, "acquire", "ok", 0, 2).mark(histories.Nemesis, "kill", 600, targeting("worker-0")).
			op(2, "extend", "ok", 2650, 2652, token("q")).op(1, "acquire", "fail", 2700, 2702, failed("busy")).op(1, "acquire", "fail", 3700, 3702, failed("busy")).op(1, "acquire", "fail", 4800, 4802, failed("busy")),
			StuckLock, NeverReleased, "was killed at 0.600 s while it held the lock"},
		"it renewed before it died": {tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6}).op(0, "acquire", "ok", 0, 2).op(0, "extend", "ok", 500, 502).mark(histories.Nemesis, "kill", 600, targeting("worker-0")).
			op(1, "acquire", "fail", 2700, 2702, failed("busy")).op(1, "acquire", "fail", 3700, 3702, failed("busy")).op(1, "acquire", "fail", 4800, 4802, failed("busy")),
			StuckLock, NeverReleased, "was killed at 0.600 s while it held the lock"},
		"nothing happened":                           {twoHold(tell(open)), DoubleHold, CauseUnknown, "the lease of worker 0 had 9.59 s to go: the service granted it twice, or a third party deleted it"},
		"nothing happened to a lock without a lease": {twoHold(tell(histories.LockSpec{})), DoubleHold, CauseUnknown, "it cannot end by itself"},
		"a grant that never was one": {tell(open).op(0, "acquire", "ok", 0, 4, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).
			op(1, "release", "fail", 420, 423, token("b"), failed("not the owner")).op(0, "release", "ok", 600, 604, token("a")),
			DoubleHold, CauseUnknown, "its grant never was one"},
		"promoted after the grant, restarted before it": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "start", 150, targeting("redis-1")).
			mark(histories.Nemesis, "promoted", 700, targeting("redis-2")), DoubleHold, RestartedEmpty, "was back at 0.150 s"},
		"restarted empty, then promoted, both between the grants": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "start", 150, targeting("redis-1")).
			mark(histories.Nemesis, "promoted", 300, targeting("redis-2")), DoubleHold, RestartedEmpty, "was back at 0.150 s"},
		"promoted after the grant, and nothing before it": {twoHold(tell(open)).mark(histories.Nemesis, "promoted", 700, targeting("redis-2")),
			DoubleHold, CauseUnknown, ""},
		"promoted before the grant and seen after it: the old master is dead": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "promoted", 906, targeting("redis-2")),
			DoubleHold, LostAtFailover, "redis-2 promoted by 0.906 s"},
		"a failover asked for before both grants, and seen after them": {twoHold(tell(open)).mark(histories.Nemesis, "failover", -500, targeting("redis-1")).mark(histories.Nemesis, "promoted", 500, targeting("redis-2")),
			DoubleHold, LostAtFailover, "redis-2 promoted by 0.500 s"},
		"a failover asked for long before both grants": {twoHold(tell(open)).mark(histories.Nemesis, "failover", -501, targeting("redis-1")).mark(histories.Nemesis, "promoted", 500, targeting("redis-2")),
			DoubleHold, CauseUnknown, ""},
		"promoted too late to have been before the grant": {twoHold(tell(open)).mark(histories.Nemesis, "kill", 50, targeting("redis-1")).mark(histories.Nemesis, "promoted", 907, targeting("redis-2")),
			DoubleHold, FailedOpen, "worker 1 went on at 0.406 s although redis-1 killed"},
		"its own earlier release": {late(tell(open)).op(0, "acquire", "ok", 0, 1, token("ses#1")).op(0, "release", "info", 2, 100, token("ses#1")).op(0, "acquire", "ok", 103, 104, token("ses#3")).
			op(1, "acquire", "ok", 130, 131, token("b#4")).op(0, "release", "fail", 150, 151, token("ses#3"), failed("not the owner")),
			DoubleHold, OwnLateRelease, "a release that worker 0 had sent at 0.002 s, before it took the lock again"},
		"its own earlier release, sent again": {late(tell(open)).op(0, "acquire", "info", 0, 1, token("ses#1")).op(0, "release", "fail", 2, 100, token("ses#1"), failed("connection refused")).op(0, "acquire", "ok", 103, 104, token("ses#3")).
			op(0, "release", "ok", 110, 111, token("ses#1")).op(1, "acquire", "ok", 130, 131, token("b#4")).op(0, "release", "fail", 150, 151, token("ses#3"), failed("not the owner")),
			DoubleHold, OwnLateRelease, "a release that worker 0 sent again at 0.110 s, of a lease it had had before, deleted what it had held since 0.104 s"},
		"an earlier release with another owner, sent again": {late(tell(open)).op(0, "acquire", "info", 0, 1, token("x#1")).op(0, "release", "fail", 2, 100, token("x#1"), failed("connection refused")).op(0, "acquire", "ok", 103, 104, token("ses#3")).
			op(0, "release", "ok", 110, 111, token("x#1")).op(1, "acquire", "ok", 130, 131, token("b#4")).op(0, "release", "fail", 150, 151, token("ses#3"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"a release in doubt with another token": {tell(open).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "info", 2, 500, token("c")).op(0, "acquire", "ok", 3, 4, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"the same, where a release has deleted what was another's": {tell(open).op(3, "acquire", "ok", 0, 1, onKey("y"), token("p")).op(4, "release", "ok", 5, 6, onKey("y"), token("q")).
			op(2, "acquire", "ok", 10, 11, token("c")).op(2, "release", "info", 12, 500, token("c")).op(0, "acquire", "ok", 13, 14, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("a"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "a release that worker 2 had sent at 0.012 s was still on its way"},
		"looks at its own clock, sleeps, then deletes": {tell(histories.LockSpec{TTL: 300e6}).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "ok", 250, 420, token("c")).mark(histories.Nemesis, "pause", 255, targeting("worker-2")).
			op(0, "acquire", "ok", 310, 311, token("a")).op(1, "acquire", "ok", 421, 423, token("b")).mark(histories.Nemesis, "resume", 418, targeting("worker-2")).op(0, "release", "fail", 500, 501, token("a"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "its lease was over at 0.300 s, and the release deleted at 0.420 s or before what worker 0 had held"},
		"the same while its lease may have been in force": {tell(histories.LockSpec{TTL: 300e6}).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "ok", 250, 420, token("c")).
			op(0, "acquire", "ok", 290, 291, token("a")).op(1, "acquire", "ok", 421, 423, token("b")).op(0, "release", "fail", 500, 501, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, "no fault was in force"},
		"a renewal that was under way: nobody knows when it acted": {tell(histories.LockSpec{TTL: 300e6}).op(0, "acquire", "ok", 0, 4, token("a")).op(0, "extend", "ok", 250, 700, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 800, 804, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, "was under way"},
		"another worker renews, this one does not": {twoHold(tell(histories.LockSpec{TTL: 300e6})).op(1, "extend", "ok", 410, 412, token("b")),
			DoubleHold, LeaseRanOut, "lasted 300 ms"},
		"paused at a step": {tell(withLease).op(0, "sell", "ok", 0, 2100).mark(histories.Nemesis, "pause", 0, targeting("worker-0"), fault(histories.Fault{F: "pause", Step: "before-write"})).
			op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "read", "ok", 300, 302, parent(1)).mark(histories.Nemesis, "resume", 2000, targeting("worker-0")).op(0, "write", "ok", 2020, 2030, parent(1)),
			StaleWrite, LeaseRanOut, "worker-0 was paused from 0.302 s to 2.00 s"},
		"written after a deadline that was past at the grant": {tell(withLease).op(0, "sell", "ok", 0, 2100).op(0, "acquire", "ok", 1, 1300, parent(1), until(1000)).op(0, "write", "ok", 1400, 1410, parent(1)),
			StaleWrite, LeaseRanOut, "its deadline was at 1.00 s"},
		"a renewal takes the lock anew": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(1, "acquire", "ok", 1005, 1008, until(2005)).op(1, "release", "ok", 1010, 1011).op(0, "extend", "ok", 1500, 1502, until(2500)),
			LeaseGap, LeaseRanOut, "the renewal took the lock anew instead of failing"},
		"a renewal prolongs another's": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(1, "acquire", "ok", 1005, 1008, until(2005)).op(0, "extend", "ok", 1500, 1502, until(2500)).op(1, "release", "ok", 1510, 1511),
			LeaseGap, LeaseRanOut, "the renewal prolonged the lock of worker 1 instead of failing"},
		"a renewal goes on after its release": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "ok", 10, 12).op(1, "acquire", "ok", 15, 18, until(1015)).op(1, "release", "ok", 20, 21).op(0, "extend", "ok", 30, 32, until(1030)),
			LeaseGap, RenewedReleased, "worker 0 had released it at 0.010 s, and its renewal went on: it took the lock anew"},
		"a failover undoes a release": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "ok", 10, 12).op(1, "acquire", "ok", 15, 18, until(1015)).op(1, "release", "ok", 20, 21).
			mark(histories.Nemesis, "kill", 22, targeting("redis-1")).mark(histories.Nemesis, "promoted", 25, targeting("redis-2")).op(0, "extend", "ok", 30, 32, until(1030)),
			LeaseGap, LostAtFailover, "that release was lost at failover"},
		"lease": {twoHold(tell(histories.LockSpec{TTL: 300e6})), DoubleHold, LeaseRanOut, "lasted 300 ms"},
		"lease, in a pause": {twoHold(tell(histories.LockSpec{TTL: 300e6})).mark(histories.Nemesis, "pause", 50, targeting("worker-0")).mark(histories.Nemesis, "resume", 500, targeting("worker-0")),
			DoubleHold, LeaseRanOut, "worker-0 was paused from 0.050 s to 0.500 s"},
		"renewal in the instant of the grant": {twoHold(tell(histories.LockSpec{TTL: 300e6})).op(0, "extend", "ok", 4, 4, token("a")),
			DoubleHold, RenewalStopped, "renewed last at 0.004 s"},
		"renewal": {twoHold(tell(histories.LockSpec{TTL: 300e6})).op(0, "extend", "ok", 60, 62, token("a")),
			DoubleHold, RenewalStopped, "renewed last at 0.062 s"},
		"renewals alone were paused": {twoHold(tell(histories.LockSpec{TTL: 300e6})).op(0, "extend", "ok", 60, 62, token("a")).mark(histories.Nemesis, "pause", 70, targeting("worker-0"), fault(histories.Fault{F: "pause", Step: "renewal"})),
			DoubleHold, RenewalStopped, "paused"},
		"the whole worker was paused, renewals with it": {twoHold(tell(histories.LockSpec{TTL: 300e6})).op(0, "extend", "ok", 60, 62, token("a")).mark(histories.Nemesis, "pause", 70, targeting("worker-0"), fault(histories.Fault{F: "pause"})),
			DoubleHold, LeaseRanOut, "paused"},
		"one owner id": {tell(open).op(0, "acquire", "ok", 0, 4, token("pod:1#1")).op(1, "acquire", "ok", 400, 406, token("pod:1#2")).op(0, "release", "ok", 600, 601, token("pod:1#1")),
			DoubleHold, SharedOwner, `"pod:1"`},
		"made up": {tell(open).mark(histories.Nemesis, "partition", 50, fault(histories.Fault{From: []string{"worker-1"}, To: []string{"locks"}})).op(0, "acquire", "ok", 0, 4).op(1, "acquire", "ok", 400, 906).op(0, "release", "ok", 1000, 1001),
			DoubleHold, FailedOpen, "worker 1 went on at 0.906 s although the links of worker-1 with locks were cut off"},
		"a release in flight, sent while the next one waited for the lock": {late(tell(open)).op(2, "acquire", "ok", 0, 1, token("x#1")).op(0, "acquire", "ok", 2, 10, token("x#2")).op(2, "release", "info", 5, 500, token("x#1")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "a release that worker 2 had sent at 0.005 s was still on its way"},
		"a release in flight, of a hold that began when the other did": {tell(open).op(2, "acquire", "ok", 0, 4, token("x#1")).op(2, "release", "info", 4, 500, token("x#1")).op(0, "acquire", "ok", 3, 4, token("x#2")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"an earlier release by another that was done": {tell(open).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "ok", 2, 3, token("c")).op(0, "acquire", "ok", 4, 5, token("a")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, "no fault was in force"},
		"a release that was under way, and refused": {tell(open).op(2, "acquire", "ok", 0, 1, token("x#1")).op(2, "release", "fail", 2, 500, token("x#1"), failed("not the owner")).op(0, "acquire", "ok", 3, 4, token("x#2")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"a release by another that has the same owner": {tell(open).op(2, "acquire", "info", 0, 1, token("x#1")).op(0, "acquire", "ok", 3, 4, token("x#2")).op(2, "release", "ok", 10, 11, token("x#1")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"its own earlier release, sent again and refused": {late(tell(open)).op(0, "acquire", "info", 0, 1, token("ses#1")).op(0, "release", "fail", 2, 100, token("ses#1"), failed("connection refused")).op(0, "acquire", "ok", 1103, 1104, token("ses#3")).
			op(0, "release", "fail", 1110, 1111, token("ses#1"), failed("not the owner")).op(1, "acquire", "ok", 1130, 1131, token("b#4")).op(0, "release", "fail", 1150, 1151, token("ses#3"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"made up by the second of two that waited as long": {tell(open).op(0, "acquire", "ok", 0, 6).mark(histories.Nemesis, "partition", 390, fault(histories.Fault{From: []string{"worker-1"}, To: []string{"locks"}})).op(1, "acquire", "ok", 400, 406).op(0, "release", "ok", 1000, 1001),
			DoubleHold, FailedOpen, "worker 1 went on at 0.406 s"},
		"cut off from one of several servers": {tell(open).op(0, "acquire", "ok", 0, 6).mark(histories.Nemesis, "kill", 380, targeting("redis-1")).mark(histories.Nemesis, "start", 381, targeting("redis-1")).mark(histories.Nemesis, "partition", 390, targeting("worker-1", "redis-4"), fault(histories.Fault{From: []string{"worker-1"}, To: []string{"redis-4"}})).op(1, "acquire", "ok", 400, 406).op(0, "release", "ok", 1000, 1001),
			DoubleHold, RestartedEmpty, "redis-1 killed at 0.380 s"},
		"a late delete that was done before the grant": {tell(histories.LockSpec{TTL: 300e6}).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "ok", 310, 320, token("c")).
			op(0, "acquire", "ok", 315, 331, token("a")).op(1, "acquire", "ok", 421, 423, token("b")).op(0, "release", "fail", 500, 501, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, "no fault was in force"},
		"an acquire under way since before the grant deletes nothing": {tell(histories.LockSpec{TTL: 500e6}).op(1, "acquire", "ok", 0, 1, token("b0")).op(1, "release", "ok", 10, 11, token("b0")).
			op(1, "acquire", "ok", 1001, 1406, token("b")).op(0, "acquire", "ok", 1002, 1004, token("a")).op(0, "release", "fail", 1600, 1601, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, "no fault was in force"},
		"a worker is frozen while a promotion is seen late": {twoHold(tell(open)).mark(histories.Nemesis, "pause", 350, targeting("worker-3")).mark(histories.Nemesis, "promoted", 500, targeting("redis-2")),
			DoubleHold, CauseUnknown, ""},
		"a janitor that looked, when the lease had run out": {twoHold(tell(histories.LockSpec{TTL: 100e6})).op(2, "break", "ok", 200, 202, token("a")),
			DoubleHold, DeletedByAnother, "worker 2 deleted at 0.200 s the lock that worker 0 had held"},
		"renewals that fail after a release that did not act": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "info", 5, 50).op(0, "extend", "fail", 600, 602, failed("could not connect")).op(1, "acquire", "fail", 2000, 2008, failed("busy")),
			StuckLock, NeverReleased, "the release of worker 0 at 0.005 s did not act"},
		"a renewal that took the lock anew or prolonged another's": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(1, "acquire", "ok", 1005, 1008, until(2005)).op(0, "extend", "ok", 1500, 1510, until(2500)).op(1, "release", "ok", 1505, 1506),
			LeaseGap, LeaseRanOut, "took the lock anew, or prolonged another's, instead of failing"},
		"the first of two that took the lock is named": {tell(open).sellUnder(0, 1, 0).sellUnder(0, 5, 20).op(1, "sell", "ok", 40, 50).op(1, "write", "ok", 42, 43, parent(9)),
			UnlockedWrite, NeverAsked, "that of op 1 took stock:sku-1 at 0.002 s"},
		"a read after a write shows what was left before it": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 50, orderID("a"), left(0)).op(0, "write", "ok", 10, 11, parent(1)).op(0, "read", "ok", 40, 41, parent(1)).
			op(1, "sell", "ok", 15, 60, orderID("b")).op(1, "read", "ok", 20, 21, parent(4), func(op *histories.Op) { op.Value = histories.N(1) }).op(1, "write", "ok", 30, 31, parent(4)),
			Oversell, OldStock, "worker 1 was shown 1 at 0.021 s, although only 0 were left since 0.050 s"},
		"the store lost a sale before the next one": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 50, orderID("a")).mark(histories.Nemesis, "kill", 60, targeting("redis-1")).mark(histories.Nemesis, "promoted", 70, targeting("redis-2")).op(1, "sell", "ok", 40, 150, orderID("b")),
			Oversell, LostAtFailover, "what the store knew was lost at failover"},
		"a failover before anything was sold": {tell(histories.LockSpec{None: true}).op(0, "restock", "fail", 0, 1, failed("could not connect")).mark(histories.Nemesis, "kill", 5, targeting("redis-1")).mark(histories.Nemesis, "promoted", 8, targeting("redis-2")).
			op(0, "sell", "ok", 10, 20, orderID("a")).op(1, "sell", "ok", 30, 40, orderID("b")),
			Oversell, CauseUnknown, ""},
		"two sells that tell of one unit": {stocked(5, tell(histories.LockSpec{None: true})).op(0, "sell", "ok", 0, 50, orderID("a"), left(3), ofUnits(2)).op(1, "sell", "ok", 10, 60, orderID("b"), left(2), ofUnits(2)),
			StockNotLinearizable, NotAtomic, "sold at the same time"},
		"two sells that left one number, with a restock between them": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 10, orderID("a"), left(0)).op(1, "restock", "ok", 6, 7).op(1, "sell", "ok", 8, 20, orderID("b"), left(0)).op(2, "sell", "ok", 50, 51, orderID("c"), left(7)),
			StockNotLinearizable, CauseUnknown, ""},
		"made up by the one that waited longer": {tell(open).op(0, "acquire", "ok", 400, 404).mark(histories.Nemesis, "partition", 450, fault(histories.Fault{From: []string{"worker-1"}, To: []string{"locks"}})).op(1, "acquire", "ok", 500, 560).op(0, "release", "ok", 1000, 1001),
			DoubleHold, FailedOpen, "worker 1 went on at 0.560 s"},
		"made up by the first": {tell(open).mark(histories.Nemesis, "partition", 350, fault(histories.Fault{From: []string{"worker-0"}, To: []string{"locks"}})).op(0, "acquire", "ok", 400, 460).mark(histories.Nemesis, "heal", 470).op(1, "acquire", "ok", 500, 506).op(0, "release", "ok", 1000, 1001),
			DoubleHold, FailedOpen, "worker 0 went on at 0.460 s"},
		"a release in flight until the very moment of the grant": {tell(open).op(2, "acquire", "ok", 0, 1, token("x#1")).op(2, "release", "info", 2, 4, token("x#1")).op(0, "acquire", "ok", 3, 4, token("x#2")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "may have deleted"},
		"a lease gap whose other holder was told at the very moment": {tell(histories.LockSpec{TTL: 100e6}).op(0, "acquire", "ok", 0, 2, token("a")).op(1, "acquire", "ok", 150, 200, token("b")).op(0, "extend", "ok", 200, 210, token("a")).op(1, "release", "ok", 300, 301, token("b")),
			LeaseGap, LeaseRanOut, "prolonged the lock of worker 1 instead of failing"},
		"a release in flight": {tell(open).op(2, "acquire", "ok", 0, 1, token("x#1")).op(2, "release", "info", 2, 500, token("x#1")).op(0, "acquire", "ok", 3, 4, token("x#2")).op(1, "acquire", "ok", 400, 406, token("b")).op(0, "release", "fail", 600, 601, token("x#2"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "may have deleted"},
		"a foreign release": {tell(histories.LockSpec{TTL: 300e6}).op(2, "acquire", "ok", 0, 1, token("c"), until(300)).op(0, "acquire", "ok", 310, 311, token("a"), until(610)).op(2, "release", "ok", 320, 321, token("c")).op(1, "acquire", "ok", 330, 331, token("b"), until(630)).op(0, "release", "fail", 400, 401, token("a"), failed("not the owner")),
			DoubleHold, ReleasedByAnother, "worker 2 released at 0.320 s"},
		"a janitor": {twoHold(tell(histories.LockSpec{})).op(2, "break", "ok", 20, 22, token("a")),
			DoubleHold, DeletedByAnother, "worker 2 deleted at 0.020 s the lock that worker 0 had held"},
		"a janitor that did not look": {twoHold(tell(histories.LockSpec{})).op(2, "break", "ok", 20, 22),
			DoubleHold, DeletedByAnother, "worker 2 deleted at 0.020 s"},
		"a janitor that did not look, when the lease had run out": {twoHold(tell(histories.LockSpec{TTL: 100e6})).op(2, "break", "ok", 200, 202),
			DoubleHold, LeaseRanOut, "lasted 100 ms"},
		"a janitor that found nothing": {twoHold(tell(histories.LockSpec{})).op(2, "break", "fail", 20, 22, token("a"), failed("not the owner")),
			DoubleHold, CauseUnknown, ""},
		"a janitor that came too late": {twoHold(tell(histories.LockSpec{})).op(2, "break", "ok", 500, 502, token("a")),
			DoubleHold, CauseUnknown, ""},
		"a janitor of another lock": {twoHold(tell(histories.LockSpec{})).op(2, "break", "ok", 20, 22, token("x")),
			DoubleHold, CauseUnknown, ""},
		"a janitor whose deletion is in doubt": {twoHold(tell(histories.LockSpec{})).op(2, "break", "info", 20, 22, token("a")),
			DoubleHold, CauseUnknown, ""},
		"an old master that still answers while a replica is dead": {twoHold(tell(open)).mark(histories.Nemesis, "kill", -300, targeting("redis-3")).mark(histories.Nemesis, "failover", -20, targeting("redis-1")).mark(histories.Nemesis, "promoted", -10, targeting("redis-2")).mark(histories.Nemesis, "demoted", 500, targeting("redis-1")),
			DoubleHold, LostAtFailover, "the old master went on answering until 0.500 s"},
		"made up while the store of the stock was hit too": {tell(open).op(0, "acquire", "ok", 0, 6).mark(histories.Nemesis, "evict", 380, targeting("stock-1")).mark(histories.Nemesis, "partition", 390, fault(histories.Fault{From: []string{"worker-1"}, To: []string{"locks"}})).op(1, "acquire", "ok", 400, 406).op(0, "release", "fail", 600, 604, failed("not the owner")).op(1, "release", "ok", 620, 623),
			DoubleHold, FailedOpen, "worker 1 went on at 0.406 s"},
		"another's renewal keeps no lease": {twoHold(tell(histories.LockSpec{TTL: 300e6}).op(1, "extend", "ok", 200, 201, token("b"))),
			DoubleHold, LeaseRanOut, "lasted 300 ms"},
		"three sells at once of two units": {stocked(2, tell(histories.LockSpec{None: true})).op(0, "sell", "ok", 0, 50, orderID("a")).op(1, "sell", "ok", 5, 55, orderID("b")).op(2, "sell", "ok", 10, 60, orderID("c")),
			StockNotLinearizable, NotAtomic, "sold at the same time"},
		"the store forgot a sale, and a read shows it": {stocked(5, tell(histories.LockSpec{None: true})).op(0, "sell", "ok", 0, 10, orderID("a"), left(4)).mark(histories.Nemesis, "kill", 20, targeting("redis-1")).
			mark(histories.Nemesis, "promoted", 30, targeting("redis-2")).op(1, "read", "ok", 100, 101, value(5)),
			StockNotLinearizable, LostAtFailover, "redis-2 promoted at 0.030 s"},
		"never released": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).op(1, "acquire", "fail", 1600, 1608, failed("busy")),
			StuckLock, NeverReleased, "worker 0 was killed at 0.005 s while it held the lock"},
		"renewed by nobody's watchdog": {tell(withLease).op(0, "acquire", "ok", 0, 2, until(1000)).op(0, "release", "info", 5, 50).op(0, "extend", "ok", 600, 602, until(1600)).op(0, "extend", "ok", 1200, 1202, until(2200)).op(1, "acquire", "fail", 2000, 2008, failed("busy")),
			StuckLock, NeverReleased, "worker 0 goes on renewing it"},
		"written after release": {tell(withLease).op(0, "sell", "ok", 0, 100).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).op(0, "release", "ok", 10, 12, parent(1)).op(0, "write", "ok", 20, 30, parent(1)),
			StaleWrite, BeforeCommit, "sent its release at 0.010 s"},
		"written after notice": {tell(withLease).op(0, "sell", "ok", 0, 100).op(0, "acquire", "ok", 1, 2, parent(1), until(1000)).mark(0, "lost", 10).op(0, "write", "ok", 20, 30, parent(1)),
			StaleWrite, FailedOpen, "was told at 0.010 s"},
		"check and act": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 50, orderID("a")).op(0, "read", "ok", 1, 2, parent(1)).op(0, "write", "ok", 40, 41, parent(1)).
			op(1, "sell", "ok", 10, 60, orderID("b")).op(1, "read", "ok", 11, 12, parent(4)).op(1, "write", "ok", 50, 51, parent(4)),
			Oversell, NotAtomic, "worker 0 and worker 1 both looked at the stock"},
		"two sells at once, and no look is recorded": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 50, orderID("a")).op(1, "sell", "ok", 10, 60, orderID("b")),
			Oversell, NotAtomic, "worker 0 and worker 1 sold at the same time"},
		"tried again": {tell(histories.LockSpec{None: true}).op(0, "sell", "info", 0, 5, orderID("a")).op(0, "sell", "ok", 10, 15, orderID("a")).audit(3000, -1, "a", "a"),
			DuplicateOrder, RetriedBlind, "op 1 had an unknown outcome"},
		"acted twice by itself": {tell(histories.LockSpec{None: true}).op(0, "sell", "ok", 0, 5, orderID("a")).audit(3000, -1, "a", "a"),
			DuplicateOrder, RetriedBlind, "op 1 acted more than once"},
	} {
		t.Run(name, func(t *testing.T) {
			h := c.story.history()
			h.Header.Initial = max(h.Header.Initial, 1)
			v := c.story.check()
			for _, x := range v.Violations {
				if x.Property == c.property {
					if x.Cause != c.cause || !strings.Contains(x.Because, c.because) {
						t.Errorf("cause is %q (%s), want %q (… %s …)", x.Cause, x.Because, c.cause, c.because)
					}
					return
				}
			}
			t.Errorf("no %s:\n%s", c.property, told(v))
		})
	}
}

func ofUnits(n int64) func(*histories.Op) { return func(op *histories.Op) { op.Qty = n } }

// stocked is a story of a shop that begins with some units.
func stocked(initial int64, s *story) *story {
	s.h.Header.Initial = initial
	return s
}

// Only an acquire that failed and says nothing was busy.
func TestAFailedReleaseWithoutAReasonIsNotBusy(t *testing.T) {
	v := tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 1).op(0, "release", "fail", 5, 6).op(1, "acquire", "fail", 7, 8).check()
	if v.Counts.Outcomes["release fail"] != 1 || v.Counts.Outcomes["acquire fail busy"] != 1 {
		t.Errorf("counted %v", v.Counts.Outcomes)
	}
}
