package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func params(seed uint64) Params {
	return Params{
		TimeLimit: 30 * time.Second, TTL: 5 * time.Second, LongWork: 2 * time.Second,
		Workers: 10, Servers: 3, Replicas: true, SQL: true, Renews: true, Sentinels: true, WritesRedis: true, Commits: true, WritesUnderLock: true, Steps: []string{"before-expire"}, Crashes: []string{"before-expire"}, Rand: rand.New(rand.NewPCG(seed, 1)),
	}
}

func TestEveryPlanIsAValidScheduleAndOneSeedMakesOnePlan(t *testing.T) {
	for _, n := range Catalogue {
		for _, only := range variantNames(n) {
			t.Run(n.Name+"/"+only, func(t *testing.T) {
				p, q := params(7), params(7)
				p.Only, q.Only = only, only
				p.Waits = only == "stale-replica" || only == "only-replica"
				p.Sentinels = only != "only-replica"
				q.Waits, q.Sentinels = p.Waits, p.Sentinels
				p.Replicas = only != "restart-keep"
				q.Replicas = p.Replicas
				if only == "restart-keep" {
					p.Servers, q.Servers = 0, 0
				}
				s, err := Plan(n.Name, p)
				if err != nil {
					t.Fatal(err)
				}
				again, _ := Plan(n.Name, q)
				if diff := cmp.Diff(s, again); diff != "" {
					t.Errorf("the same seed made another plan:\n%s", diff)
				}
				if n.Name != None && len(s.Episodes) == 0 {
					t.Error("no episode in 30 s")
				}
				var buf bytes.Buffer
				if err := json.NewEncoder(&buf).Encode(s); err != nil {
					t.Fatal(err)
				}
				read, err := ReadSchedule(&buf)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(s, read); diff != "" {
					t.Errorf("reading back what was written:\n%s", diff)
				}
			})
		}
	}
}

func variantNames(n Nemesis) []string {
	if len(n.Variants) == 0 {
		return []string{""}
	}
	var names []string
	for _, v := range n.Variants {
		names = append(names, v.Name)
	}
	return names
}

func TestPlansThatCannotBeHadAreRefusedWithTheReason(t *testing.T) {
	tests := map[string]struct {
		change func(*Params)
		name   string
		want   string
	}{
		"failover without replicas":    {func(p *Params) { p.Replicas = false }, "failover", "no replica"},
		"delay at COMMIT without SQL":  {func(p *Params) { p.SQL = false }, "delay", "no SQL server"},
		"eviction without Redis":       {func(p *Params) { p.Servers = 0 }, "evict", "no Redis"},
		"one of a sum cannot be had":   {func(p *Params) { p.Replicas = false }, "kill+failover", "no replica"},
		"a name that nobody has heard": {func(*Params) {}, "kill+earthquake", "unknown nemesis"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := params(1)
			test.change(&p)
			if _, err := Plan(test.name, p); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Plan(%s) = %v, want an error about %q", test.name, err, test.want)
			}
		})
	}
}

func TestMixedTakesTurnsAndKeepsTheInterval(t *testing.T) {
	s, err := Plan(Mixed, params(3))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Episodes) < 3 {
		t.Errorf("only %d episodes in 30 s", len(s.Episodes))
	}
	for i := 1; i < len(s.Episodes); i++ {
		if gap := s.Episodes[i].At - s.Episodes[i-1].At; gap < 7*time.Second {
			t.Errorf("episodes %d and %d begin %v apart", i-1, i, gap)
		}
	}
}

// script is a world in which the events of a script happen one by one
// whenever the nemesis waits.
type script struct {
	now      time.Duration
	watch    *Watch
	coming   []histories.Event
	injected []histories.Fault
	recorded []histories.Event
	refuse   string        // a fault that cannot be had
	takes    time.Duration // to inject a fault
	later    time.Duration // when it takes effect, if it waits for a worker
}

func (s *script) Now() time.Duration { return s.now }

func (s *script) Sleep(_ context.Context, d time.Duration) error {
	for end := s.now + d; s.now < end; {
		if !s.next(end) {
			s.now = end
		}
	}
	return nil
}

func (s *script) Await(_ context.Context, limit time.Duration, ready func() bool) bool {
	for end := s.now + limit; s.now < end; {
		if ready() {
			return true
		}
		if !s.next(end) {
			s.now = end
		}
	}
	return ready()
}

// next lets the next event happen, if it does before end.
func (s *script) next(end time.Duration) bool {
	if len(s.coming) == 0 || time.Duration(s.coming[0].Time) > end {
		return false
	}
	e := s.coming[0]
	s.coming = s.coming[1:]
	s.now = max(s.now, time.Duration(e.Time))
	s.watch.See(e)
	return true
}

func (s *script) Inject(ctx context.Context, f histories.Fault) (Effect, error) {
	if err := s.Sleep(ctx, s.takes); err != nil {
		return Effect{}, err
	}
	s.injected = append(s.injected, f)
	if f.F == s.refuse {
		return Effect{}, errors.New("not here")
	}
	return Effect{Targets: f.Targets, Proof: "it bit", At: s.later}, nil
}

func (s *script) Record(e histories.Event) { s.recorded = append(s.recorded, e) }

// What waited at a step is recorded with the moment at which a worker came there.
func TestAFaultThatWaitedIsRecordedWhenItTookEffect(t *testing.T) {
	for later, want := range map[time.Duration]time.Duration{0: time.Second, 4 * time.Second: 4 * time.Second} {
		w := &script{watch: &Watch{}, later: later}
		pause := step(histories.Fault{F: histories.Pause, Targets: []string{"worker-1"}, Step: "before-write"})
		sched := Schedule{Format: Format, Episodes: []Episode{{Name: "e", At: time.Second, Steps: []Step{pause}}}}
		if err := Run(t.Context(), w, sched, w.watch, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(w.recorded[0].Time); got != want {
			t.Errorf("a pause that took effect at %v is recorded at %v, want %v", later, got, want)
		}
	}
}

func at(d time.Duration, e histories.Event) histories.Event {
	e.Time = int64(d)
	return e
}

func play(t *testing.T, coming []histories.Event, steps ...Step) (*script, error) {
	t.Helper()
	w := &script{watch: &Watch{}, coming: coming}
	sched := Schedule{Format: Format, Episodes: []Episode{{Name: "e", At: time.Second, Steps: steps}}}
	return w, Run(t.Context(), w, sched, w.watch, 20*time.Second)
}

// sale is the beginning of a sell by worker p: its lock is granted at ok.
func sale(p histories.Process, op int64, key string, ok, work time.Duration) []histories.Event {
	return []histories.Event{
		at(ok-2, histories.Event{Process: p, Type: histories.Invoke, F: histories.Sell, Op: op, Work: int64(work)}),
		at(ok-1, histories.Event{Process: p, Type: histories.Invoke, F: histories.Acquire, Op: op + 1, Parent: op, Key: key}),
		at(ok, histories.Event{Process: p, Type: histories.OK, F: histories.Acquire, Op: op + 1}),
	}
}

func join(parts ...[]histories.Event) []histories.Event {
	var all []histories.Event
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var killHolder = Step{
	On:    &Trigger{F: []string{histories.Acquire}, Free: true, MinWork: 2 * time.Second, Within: 5 * time.Second},
	Fault: histories.Fault{F: histories.Kill, Targets: []string{histories.RoleHolder, histories.RoleKeyMaster}},
}

func TestTheAimIsALongGrantOfAKeyThatWasFree(t *testing.T) {
	w, err := play(t, join(
		sale(1, 10, "busy", 500*time.Millisecond, 3*time.Second), // held when the trigger is armed
		sale(2, 20, "short", 1500*time.Millisecond, time.Millisecond),
		[]histories.Event{
			at(1600*time.Millisecond, histories.Event{Process: 1, Type: histories.Invoke, F: histories.Release, Op: 13, Key: "busy"}),
			at(1601*time.Millisecond, histories.Event{Process: 1, Type: histories.OK, F: histories.Release, Op: 13}),
		},
		sale(3, 30, "busy", 1700*time.Millisecond, 3*time.Second), // free now, but not then
		sale(4, 40, "free", 1800*time.Millisecond, 3*time.Second),
		sale(5, 50, "free2", 1900*time.Millisecond, 3*time.Second),
	), killHolder)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"worker-4", "key:free"}
	if len(w.injected) != 1 || !cmp.Equal(w.injected[0].Targets, want) {
		t.Errorf("injected %+v, want one kill of %v", w.injected, want)
	}
	if got := w.recorded; len(got) != 1 || got[0].Proof != "it bit" || got[0].Process != histories.Nemesis || time.Duration(got[0].Time) != 1800*time.Millisecond {
		t.Errorf("recorded %+v", got)
	}
}

func TestAKeyThatWasLockedDuringTheInjectionIsNotFree(t *testing.T) {
	release := func(p histories.Process, op int64, key string, ok time.Duration) []histories.Event {
		return []histories.Event{
			at(ok-1, histories.Event{Process: p, Type: histories.Invoke, F: histories.Release, Op: op, Key: key}),
			at(ok, histories.Event{Process: p, Type: histories.OK, F: histories.Release, Op: op}),
		}
	}
	for _, c := range []struct {
		name  string
		lease time.Duration
		want  []string
	}{
		{"a stale replica may keep it forever", 0, []string{"worker-7", "key:before"}},
		{"until the lease is over", 2350 * time.Millisecond, []string{"worker-5", "key:just before"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The cut is made from 1 s on, and shown to be at 3 s.
			w := &script{watch: &Watch{}, takes: 2 * time.Second, coming: join(
				sale(1, 10, "before", 200*time.Millisecond, time.Millisecond),
				release(1, 13, "before", 500*time.Millisecond),
				sale(2, 20, "just before", 300*time.Millisecond, time.Millisecond),
				release(2, 23, "just before", 950*time.Millisecond),
				sale(3, 30, "during", 1150*time.Millisecond, time.Millisecond),
				release(3, 33, "during", 2*time.Second),
				sale(4, 40, "during", 3500*time.Millisecond, 3*time.Second),
				sale(5, 50, "just before", 3600*time.Millisecond, 3*time.Second),
				sale(7, 70, "before", 3700*time.Millisecond, 3*time.Second),
			)}
			aim := killHolder
			trigger := *killHolder.On
			trigger.Lease = c.lease
			aim.On = &trigger
			sched := Schedule{Format: Format, Episodes: []Episode{{At: time.Second, Steps: []Step{{Fault: histories.Fault{F: histories.Partition}}, aim}}}}
			if err := Run(t.Context(), w, sched, w.watch, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			if got := w.injected[1].Targets; !cmp.Equal(got, c.want) {
				t.Errorf("aimed at %v, want %v", got, c.want)
			}
		})
	}

	// A second cut does not make good what the first one did.
	twice := &script{watch: &Watch{}, takes: 2 * time.Second, coming: join(
		sale(1, 10, "first", 900*time.Millisecond, time.Millisecond),
		release(1, 13, "first", 1500*time.Millisecond),
		sale(2, 20, "first", 5500*time.Millisecond, 3*time.Second),
		sale(3, 30, "free", 5600*time.Millisecond, 3*time.Second),
	)}
	cut := Step{Fault: histories.Fault{F: histories.Partition}}
	if err := Run(t.Context(), twice, Schedule{Format: Format, Episodes: []Episode{{At: time.Second, Steps: []Step{cut, cut, killHolder}}}}, twice.watch, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got, want := twice.injected[2].Targets, []string{"worker-3", "key:free"}; !cmp.Equal(got, want) {
		t.Errorf("after two cuts aimed at %v, want %v", got, want)
	}

	// After the cut it does not matter who has had the key.
	w := &script{watch: &Watch{}, takes: 2 * time.Second, coming: join(
		sale(1, 10, "after", 1500*time.Millisecond, time.Millisecond),
		release(1, 13, "after", 3*time.Second),
		sale(2, 20, "after", 3500*time.Millisecond, 3*time.Second),
	)}
	sched := Schedule{Format: Format, Episodes: []Episode{{At: time.Second, Steps: []Step{{Fault: histories.Fault{F: histories.Partition}}, killHolder}}}}
	if err := Run(t.Context(), w, sched, w.watch, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got, want := w.injected[1].Targets, []string{"worker-2", "key:after"}; !cmp.Equal(got, want) {
		t.Errorf("aimed at %v, want %v", got, want)
	}
}

func TestAPromotionDuringTheInjectionIsNotMissed(t *testing.T) {
	promoted := histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Promoted}
	steps := []Step{
		{Fault: histories.Fault{F: histories.Kill}},
		{On: &Trigger{F: []string{histories.Promoted}, Within: 5 * time.Second}, Fault: histories.Fault{F: histories.Start}},
	}
	w := &script{watch: &Watch{}, takes: 3 * time.Second, coming: []histories.Event{at(2*time.Second, promoted)}}
	sched := Schedule{Format: Format, Episodes: []Episode{{At: time.Second, Steps: steps}}}
	if err := Run(t.Context(), w, sched, w.watch, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(w.recorded[1].Time); got != 4*time.Second {
		t.Errorf("started at %v, want right after the injection of the kill, at 4 s", got)
	}

	// A promotion before the kill is another one.
	w = &script{watch: &Watch{}, takes: 3 * time.Second, coming: []histories.Event{at(900*time.Millisecond, promoted)}}
	if err := Run(t.Context(), w, sched, w.watch, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if got := time.Duration(w.recorded[1].Time); got != 9*time.Second {
		t.Errorf("started at %v, want after 5 s of waiting, at 9 s", got)
	}
}

func TestAnEpisodeWhoseAimNeverComesOnlyHeals(t *testing.T) {
	nobody := Step{Fault: histories.Fault{F: histories.Start, Targets: []string{histories.RoleHolder}}}
	w, err := play(t, nil, Step{Fault: histories.Fault{F: histories.Partition}}, killHolder, nobody, heal)
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	for _, f := range w.injected {
		did = append(did, f.F)
	}
	if want := []string{histories.Partition, histories.Heal}; !cmp.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
	if w.now != 6*time.Second {
		t.Errorf("healed at %v, want 1 s + the 5 s of waiting", w.now)
	}
}

func TestAFaultThatCannotBeHadIsRecordedAndReported(t *testing.T) {
	w := &script{watch: &Watch{}, refuse: histories.Evict}
	err := Run(t.Context(), w, Schedule{Episodes: []Episode{{Steps: []Step{{Fault: histories.Fault{F: histories.Evict}}}}}}, w.watch, time.Second)
	if err == nil || len(w.recorded) != 1 || w.recorded[0].Error == "" || w.recorded[0].Proof != "" {
		t.Errorf("err %v, recorded %+v", err, w.recorded)
	}
}

func TestWhoWasKilledIsNotStartedBeforeAnotherIsPromoted(t *testing.T) {
	for _, c := range []struct {
		name     string
		promoted time.Duration
		want     time.Duration
	}{
		{"promoted before the end", 2 * time.Second, 3 * time.Second},
		{"after it", 5 * time.Second, 6 * time.Second},
		{"never", time.Hour, 13 * time.Second}, // 12 s after the kill
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &script{watch: &Watch{}, coming: []histories.Event{
				at(c.promoted, histories.Event{Process: histories.Nemesis, Type: histories.Info, F: histories.Promoted}),
			}}
			steps := []Step{
				{Fault: histories.Fault{F: histories.Kill, Targets: []string{"master"}}},
				heal,
				{On: promoted, After: time.Second, Fault: histories.Fault{F: histories.Start, Targets: []string{"old-master"}}},
			}
			s := Schedule{Episodes: []Episode{{At: time.Second, Steps: steps}, {At: 3500 * time.Millisecond, Steps: steps}}}
			if err := Run(t.Context(), w, s, w.watch, 3400*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if n := len(w.recorded); n != 3 || w.recorded[2].F != histories.Start || time.Duration(w.recorded[2].Time) != c.want {
				t.Errorf("recorded %+v, want the start at %v and no other episode", w.recorded, c.want)
			}
		})
	}
}

func TestNothingIsInjectedAfterTheEnd(t *testing.T) {
	w := &script{watch: &Watch{}}
	s := Schedule{Episodes: []Episode{
		{At: time.Second, Steps: []Step{{Fault: histories.Fault{F: histories.Kill}}, {After: 5 * time.Second, Fault: histories.Fault{F: histories.Start}}}},
		{At: 2 * time.Second, Steps: []Step{{Fault: histories.Fault{F: histories.Kill}}}},
	}}
	if err := Run(t.Context(), w, s, w.watch, 3*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.recorded {
		if time.Duration(e.Time) >= 3*time.Second {
			t.Errorf("%s at %v, after the end", e.F, time.Duration(e.Time))
		}
	}
	if len(w.injected) != 2 {
		t.Errorf("%d faults, want the kills at 1 s and 2 s", len(w.injected))
	}
}

func TestAnEvictionIsAimedAtTheServerThatHasTheKey(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want string
	}{
		{Params{Servers: 3, Replicas: true}, histories.RoleKeyMaster},
		{Params{Servers: 1, Rand: rand.New(rand.NewPCG(1, 1))}, "redis-1"},
	} {
		if got := evict(c.p)[0].Fault.Targets; !cmp.Equal(got, []string{c.want}) {
			t.Errorf("aimed at %v, want %s", got, c.want)
		}
	}
}
