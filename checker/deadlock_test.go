package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

// holdBoth is the beginning of a deadlock: workers 0 and 1 hold a lock each.
func holdBoth(spec histories.LockSpec) *story {
	return tell(spec).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y"))
}

// asks is a refused ask of p for a key.
func (s *story) asks(p histories.Process, key string, call, ret int64) *story {
	return s.op(p, "acquire", "fail", call, ret, onKey(key), failed(histories.Busy))
}

// gives is a release of p.
func (s *story) gives(p histories.Process, key string, at int64) *story {
	return s.op(p, "release", "ok", at, at+1, onKey(key))
}

// Each edge of the rule about workers that wait for each other: for longer than
// 100 ms, under leases that are in force.
func TestDeadlocksAtTheirEdges(t *testing.T) {
	none := map[string]string{"verdict": "valid"}
	dead := func(ops string) map[string]string { return map[string]string{"deadlock": ops} }
	lease := histories.LockSpec{TTL: 1000e6}
	long := histories.LockSpec{TTL: 9000e6}
	short := func(op *histories.Op) { op.TTL = 100 * ms }
	free := func(s *story) *story { return s.gives(0, "x", 900).gives(1, "y", 902) }
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"both ask, a little longer than a try takes":                  {free(holdBoth(lease).asks(0, "y", 10, 300).asks(1, "x", 20, 121)), dead("4,3")},
		"both ask, for as long as a try may take":                     {free(holdBoth(lease).asks(0, "y", 10, 300).asks(1, "x", 20, 120)), none},
		"a tenth of a short ttl is enough":                            {tell(histories.LockSpec{TTL: 500e6}).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 80).asks(1, "x", 10, 61).gives(0, "x", 90).gives(1, "y", 92), dead("4,3")},
		"and no less":                                                 {tell(histories.LockSpec{TTL: 500e6}).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 80).asks(1, "x", 10, 60).gives(0, "x", 90).gives(1, "y", 92), none},
		"only one asks":                                               {free(holdBoth(lease).asks(0, "y", 10, 800)), none},
		"the other asks for a third lock":                             {free(holdBoth(lease).op(2, "acquire", "ok", 5, 6, onKey("z")).asks(0, "y", 10, 300).asks(1, "z", 20, 300).gives(2, "z", 800)), none},
		"one after the other":                                         {free(holdBoth(lease).asks(0, "y", 10, 300).asks(1, "x", 301, 700)), none},
		"in one instant only":                                         {free(holdBoth(lease).asks(0, "y", 10, 300).asks(1, "x", 300, 700)), none},
		"one gave back before it asked":                               {holdBoth(lease).gives(0, "x", 5).op(2, "acquire", "ok", 7, 8, onKey("x")).asks(0, "y", 10, 300).asks(1, "x", 20, 300).gives(2, "x", 800).gives(1, "y", 900), none},
		"short tries that follow each other are one":                  {free(holdBoth(lease).asks(0, "y", 10, 60).asks(0, "y", 90, 200).asks(1, "x", 20, 70).asks(1, "x", 80, 200)), dead("5,3")},
		"but not with something given back in between":                {holdBoth(lease).asks(0, "y", 10, 60).gives(0, "x", 62).op(0, "acquire", "ok", 70, 72, onKey("x")).asks(0, "y", 90, 180).asks(1, "x", 20, 60).asks(1, "x", 80, 180).gives(0, "x", 900).gives(1, "y", 902), none},
		"but not with another lock given back in between":             {holdBoth(lease).op(0, "acquire", "ok", 4, 5, onKey("z")).asks(0, "y", 10, 60).gives(0, "z", 70).asks(0, "y", 80, 130).asks(1, "x", 8, 400).gives(0, "x", 900).gives(1, "y", 902), none},
		"nobody waits for them: granted at last":                      {holdBoth(lease).asks(1, "x", 20, 90).gives(1, "y", 95).op(0, "acquire", "ok", 10, 100, onKey("y")).gives(0, "y", 300).gives(0, "x", 302), none},
		"a lease ran out while they waited":                           {tell(long).op(0, "acquire", "ok", 0, 2, onKey("x"), short).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 300).asks(1, "x", 10, 300).gives(1, "y", 902), none},
		"the lease lasted just long enough":                           {tell(long).op(0, "acquire", "ok", 0, 2, onKey("x"), func(op *histories.Op) { op.TTL = 111 * ms }).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 300).asks(1, "x", 10, 300).gives(1, "y", 902), dead("4,3")},
		"and just not":                                                {tell(long).op(0, "acquire", "ok", 0, 2, onKey("x"), func(op *histories.Op) { op.TTL = 110 * ms }).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 300).asks(1, "x", 10, 300).gives(1, "y", 902), none},
		"a hold in doubt is none":                                     {tell(lease).op(0, "acquire", "info", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).asks(0, "y", 10, 300).asks(1, "x", 10, 300).gives(1, "y", 902).op(1, "acquire", "ok", 910, 911, onKey("x")).gives(1, "x", 920), none},
		"a server was hit meanwhile":                                  {free(holdBoth(lease).mark(histories.Nemesis, "evict", 50, targeting("redis-1")).asks(0, "y", 10, 300).asks(1, "x", 20, 300)), none},
		"a server was hit meanwhile, and a third gives back after it": {holdBoth(lease).op(2, "acquire", "ok", 5, 6, onKey("z")).mark(histories.Nemesis, "evict", 50, targeting("redis-1")).asks(0, "y", 10, 300).asks(1, "x", 20, 300).asks(2, "x", 25, 60).gives(2, "z", 70).gives(0, "x", 900).gives(1, "y", 902), none},
		"a server was hit before":                                     {free(holdBoth(lease).mark(histories.Nemesis, "evict", 5, targeting("redis-1")).asks(0, "y", 10, 300).asks(1, "x", 20, 300)), dead("4,3")},
		"a worker was frozen meanwhile":                               {free(holdBoth(lease).mark(histories.Nemesis, "pause", 50, targeting("worker-7")).asks(0, "y", 10, 300).asks(1, "x", 20, 300)), dead("4,3")},
		"three in a ring":                                             {tell(lease).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).op(2, "acquire", "ok", 0, 2, onKey("z")).asks(0, "y", 10, 300).asks(1, "z", 11, 300).asks(2, "x", 12, 300).gives(0, "x", 900).gives(1, "y", 902).gives(2, "z", 904), dead("6,4,5")},
		"three in a row":                                              {tell(lease).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).op(2, "acquire", "ok", 0, 2, onKey("z")).asks(0, "y", 10, 300).asks(1, "z", 11, 300).gives(0, "x", 900).gives(1, "y", 902).gives(2, "z", 904), none},
		"two in a ring, and one that waits for them":                  {tell(lease).op(0, "acquire", "ok", 0, 2, onKey("x")).op(1, "acquire", "ok", 0, 2, onKey("y")).op(2, "acquire", "ok", 0, 2, onKey("z")).asks(2, "x", 9, 300).asks(0, "y", 10, 300).asks(1, "x", 11, 300).gives(0, "x", 900).gives(1, "y", 902).gives(2, "z", 904), dead("6,5")},
		"a sell that is refused its own lock":                         {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 10, 11, parent(9), failed("busy")).op(0, "release", "ok", 20, 21, parent(9)), dead("2")},
		"a sell whose renewal is never answered":                      {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "extend", "info", 10, -1, parent(9)).op(1, "acquire", "ok", 500, 501, onKey("w")).gives(1, "w", 510), none},
		"of a reentrant lock":                                         {tell(histories.LockSpec{TTL: 1000e6, Reentrant: true}).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 10, 11, parent(9), failed("busy")).op(0, "release", "ok", 20, 21, parent(9)), none},
		"a sell that could not ask for its own lock":                  {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 10, 300, parent(9), failed("could not connect")).op(0, "release", "ok", 320, 321, parent(9)), none},
		"servers were calm again as it asked for its own":             {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).mark(histories.Nemesis, "evict", 10, targeting("redis-1")).op(0, "acquire", "fail", 10, 11, parent(9), failed("busy")).op(0, "release", "ok", 20, 21, parent(9)), dead("2")},
		"another sell of its worker":                                  {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 10, 11, parent(8), failed("busy")).op(0, "release", "ok", 20, 21, parent(9)), none},
		"after it gave it back":                                       {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "release", "ok", 5, 6, parent(9)).op(1, "acquire", "ok", 7, 8).op(0, "acquire", "fail", 10, 11, parent(9), failed("busy")).op(1, "release", "ok", 20, 21), none},
		"its lease may be over as it is answered":                     {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 999, 1001, parent(9), failed("busy")).op(0, "release", "ok", 1020, 1021, parent(9)), none},
		"its lease is in force to the answer":                         {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 999, 1000, parent(9), failed("busy")).op(0, "release", "ok", 1020, 1021, parent(9)), dead("2")},
		"a server was hit while it asked for it itself":               {tell(lease).op(0, "acquire", "ok", 0, 2, parent(9)).op(0, "acquire", "fail", 10, 12, parent(9), failed("busy")).mark(histories.Nemesis, "evict", 11, targeting("redis-1")).op(0, "release", "ok", 20, 21, parent(9)), none},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}

func TestALongHoldIsTold(t *testing.T) {
	v := tell(histories.LockSpec{TTL: 9000e6, MaxHold: 500e6}).op(0, "acquire", "ok", 1000, 1002, token("a")).op(0, "release", "ok", 1602, 1603, token("a")).check()
	if want := "worker 0 held stock:sku-1 for 600 ms, from 1.002 s to 1.602 s, longer than 500 ms"; len(v.Violations) != 1 || v.Violations[0].Summary != want {
		t.Errorf("want %q:\n%s", want, told(v))
	}
}

// Each edge of the rule about holds that are too long: nobody needs the lock for
// longer than 500 ms here, and a lease lasts 400 ms unless it is renewed.
func TestLongHoldsAtTheirEdges(t *testing.T) {
	none := map[string]string{"verdict": "valid"}
	long := map[string]string{"max-hold": "1"}
	begin := func() *story {
		return tell(histories.LockSpec{TTL: 400e6, MaxHold: 500e6}).op(0, "acquire", "ok", 0, 2, token("a"))
	}
	renewed := func(at int64) *story { return begin().op(0, "extend", "ok", at, at+2, token("a")) }
	release := func(s *story, at int64) *story { return s.op(0, "release", "ok", at, at+1, token("a")) }
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"to the bound":                          {release(renewed(300), 502), none},
		"beyond it":                             {release(renewed(300), 503), long},
		"the lease ended before":                {release(begin(), 900), none},
		"the renewal came too late":             {release(renewed(399), 900), none},
		"the renewal was answered in time":      {release(renewed(398), 900), long},
		"the renewed lease ends at the bound":   {release(renewed(102), 900), none},
		"the renewed lease ends just beyond":    {release(renewed(103), 900), long},
		"a renewal that was refused":            {release(begin().op(0, "extend", "fail", 300, 302, token("a"), failed("could not connect")), 600), none},
		"a renewal in doubt":                    {release(begin().op(0, "extend", "info", 300, 302, token("a")), 600), none},
		"a renewal that names no token":         {release(begin().op(0, "extend", "ok", 300, 302), 600), long},
		"a renewal by another token":            {release(begin().op(0, "extend", "ok", 300, 302, token("b")), 600), none},
		"it died":                               {renewed(300).mark(histories.Nemesis, "kill", 400, targeting("worker-0")), none},
		"no bound is promised":                  {release(tell(histories.LockSpec{TTL: 400e6}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "extend", "ok", 300, 302, token("a")), 600), none},
		"a lock without a ttl":                  {release(tell(histories.LockSpec{MaxHold: 500e6}).op(0, "acquire", "ok", 0, 2, token("a")), 503), long},
		"given back and taken again in between": {release(release(renewed(300), 350).op(0, "acquire", "ok", 360, 362, token("a")), 700), none},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}
