package checker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// busy is a refusal of p that takes 2 ms.
func (s *story) busy(p histories.Process, at int64) *story {
	return s.op(p, "acquire", "fail", at, at+2, failed(histories.Busy))
}

// Each edge of what counts as zombie time, in ms: the longest and the sum.
func TestZombieTimeAtItsEdges(t *testing.T) {
	type time [2]int64
	lease := histories.LockSpec{TTL: 5000e6}
	died := func() *story {
		return tell(lease).op(0, "acquire", "ok", 0, 2, token("a")).mark(histories.Nemesis, "kill", 10, targeting("worker-0"))
	}
	for name, c := range map[string]struct {
		story *story
		want  time
	}{
		"its holder died":                          {died().busy(1, 20).busy(1, 122), time{100, 100}},
		"one refusal has no length":                {died().busy(1, 20), time{}},
		"refused while it was held":                {died().busy(1, 5).busy(1, 122), time{}},
		"refused as its holder died":               {died().busy(1, 10).busy(1, 122), time{}},
		"refused just after":                       {died().busy(1, 11).busy(1, 122), time{109, 109}},
		"granted in between":                       {died().busy(1, 20).op(1, "acquire", "ok", 30, 32, token("b")).op(1, "release", "ok", 40, 42, token("b")).busy(1, 122), time{}},
		"two stretches":                            {died().busy(1, 20).busy(1, 32).op(1, "acquire", "ok", 40, 42, token("b")).op(1, "release", "ok", 50, 52, token("b")).busy(1, 100).busy(1, 122), time{20, 30}},
		"a grant on its way":                       {died().busy(1, 20).busy(1, 40).op(2, "acquire", "ok", 43, 200).busy(1, 122), time{18, 18}},
		"an acquire in doubt in between":           {died().busy(1, 20).op(2, "acquire", "info", 30, 40).busy(1, 122), time{}},
		"an acquire in doubt that may act no more": {died().op(2, "acquire", "info", 11, 13).busy(1, 64).busy(1, 122), time{56, 56}},
		"an acquire in doubt that may act still":   {died().op(2, "acquire", "info", 11, 13).busy(1, 63).busy(1, 122), time{}},
		"an acquire that never came back":          {died().op(2, "acquire", "info", 11, -1).busy(1, 164).busy(1, 222), time{}},
		"a release in doubt":                       {tell(lease).op(0, "acquire", "ok", 0, 2).op(0, "release", "info", 5, 7).busy(1, 57).busy(1, 122), time{}},
		"a release in doubt that may act no more":  {tell(lease).op(0, "acquire", "ok", 0, 2).op(0, "release", "info", 5, 7).busy(1, 58).busy(1, 122), time{62, 62}},
		"a release that was refused":               {tell(lease).op(0, "acquire", "ok", 0, 2).op(0, "release", "fail", 5, 7, failed("could not connect")).busy(1, 8).busy(1, 122), time{112, 112}},
		"nobody ever had it":                       {tell(lease).busy(1, 20).busy(1, 122), time{100, 100}},
		"no answer but another failure":            {died().busy(1, 20).op(1, "acquire", "fail", 122, 124, failed("could not connect")), time{}},
		"a server is away":                         {died().mark(histories.Nemesis, "kill", 15, targeting("redis-1")).busy(1, 20).busy(1, 122), time{}},
		"a server was away":                        {died().busy(1, 20).mark(histories.Nemesis, "kill", 25, targeting("redis-1")).mark(histories.Nemesis, "start", 50, targeting("redis-1")).busy(1, 60).busy(1, 122), time{60, 60}},
		"another worker is frozen":                 {died().mark(histories.Nemesis, "pause", 15, targeting("worker-3")).busy(1, 20).busy(1, 122), time{100, 100}},
		"two who try at once refuse each other":    {died().busy(1, 20).busy(2, 21).busy(1, 122).busy(2, 123), time{}},
		"one that was alone, and two at once":      {died().busy(1, 20).busy(1, 122).busy(2, 123), time{}},
		"two at once between two that were alone":  {died().busy(1, 20).busy(1, 60).busy(2, 61).busy(1, 122), time{100, 100}},
		"tries that touch":                         {died().busy(1, 20).busy(2, 22).busy(1, 122).busy(2, 124), time{}},
		"somebody asks all along":                  {died().op(1, "acquire", "fail", 20, 60, failed("busy")).op(2, "acquire", "fail", 50, 110, failed("busy")).op(1, "acquire", "fail", 100, 150, failed("busy")), time{40, 40}},
		"the design has no lock":                   {tell(histories.LockSpec{None: true}).busy(1, 20).busy(1, 122), time{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.story.h.Header.MaxDelay = 50e6
			v := c.story.check()
			var got time
			if z := v.Zombie; z != nil {
				got = time{z.Longest / ms, z.Total / ms}
			}
			if got != c.want {
				t.Errorf("%v, want %v\n%s", got, c.want, told(v))
			}
		})
	}
}

// Each stretch belongs to the fault that began last before it.
func TestZombieTimeByFault(t *testing.T) {
	s := tell(histories.LockSpec{TTL: 5000e6}).busy(1, 0).busy(1, 12).op(0, "acquire", "ok", 20, 22).
		mark(histories.Nemesis, "kill", 30, targeting("worker-0")).busy(1, 40).busy(1, 142).
		mark(histories.Nemesis, "kill", 200, targeting("redis-1")).mark(histories.Nemesis, "start", 210, targeting("redis-1")).busy(1, 220).busy(1, 252)
	s.mark(histories.Nemesis, "partition", 300, func(e *histories.Event) {
		e.Fault = &histories.Fault{From: []string{"worker-1"}, To: []string{"locks"}}
	}).mark(histories.Nemesis, "heal", 310).busy(1, 320).busy(1, 342).
		mark(histories.Nemesis, "failover", 400).busy(1, 410).busy(1, 427)
	want := &Zombie{
		Longest: 100 * ms, Total: 175 * ms, Stretches: 5, Key: "stock:sku-1", From: 42 * ms, To: 142 * ms,
		After: []ZombieAfter{{"kill worker-0", 100 * ms, 100 * ms, 1}, {"kill redis-1", 30 * ms, 30 * ms, 1}, {"partition worker-1, locks", 20 * ms, 20 * ms, 1}, {"failover", 15 * ms, 15 * ms, 1}, {"", 10 * ms, 10 * ms, 1}},
	}
	if diff := cmp.Diff(want, s.check().Zombie); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of stretches of one length the first is named.
func TestTheLongestZombieTime(t *testing.T) {
	s := tell(histories.LockSpec{TTL: 5000e6}).busy(1, 0).busy(1, 12).op(0, "acquire", "ok", 20, 22, token("a")).op(0, "release", "ok", 23, 24, token("a")).busy(1, 100).busy(1, 112)
	if z := s.check().Zombie; z == nil || z.Longest != 10*ms || z.Total != 20*ms || z.From != 2*ms {
		t.Errorf("%+v, want 10 ms of 20 ms, from 2 ms", z)
	}
}

// An option takes the place of the header's bound, and nothing is judged without
// one.
func TestBoundsOfTheCaller(t *testing.T) {
	corpus := readCorpus(t, "properties/zombie-accepted.jsonl")
	held := readCorpus(t, "properties/max-hold-accepted.jsonl")
	for name, c := range map[string]struct {
		h    *histories.History
		o    Options
		want string
	}{
		"the header's":         {corpus, Options{}, "valid"},
		"a shorter one":        {corpus, Options{MaxZombie: 499 * time.Millisecond}, "invalid"},
		"a longer one":         {readCorpus(t, "properties/zombie-rejected.jsonl"), Options{MaxZombie: 501 * time.Millisecond}, "valid"},
		"a shorter hold":       {held, Options{MaxHold: 900 * time.Millisecond}, "invalid"},
		"a longer hold":        {readCorpus(t, "properties/max-hold-rejected.jsonl"), Options{MaxHold: 2 * time.Second}, "valid"},
		"another word's bound": {held, Options{MaxZombie: 1}, "valid"},
	} {
		if v := Check(t.Context(), c.h, c.o); string(v.Outcome) != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, v.Outcome, c.want, told(v))
		}
	}
	corpus.Header.Lock.MaxZombie = 0
	v := Check(t.Context(), corpus, Options{})
	if r := v.Results[ZombieTime.rank()]; r.Outcome != NotLooked || v.Zombie == nil {
		t.Errorf("without a bound: %s, measured %v", r.Outcome, v.Zombie)
	}
}
