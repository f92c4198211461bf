package checker

import (
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// take is a hold of p of 4 ms.
func (s *story) take(p histories.Process, at int64) *story {
	return s.op(p, "acquire", "ok", at, at+1).op(p, "release", "ok", at+4, at+5)
}

// rounds are n times: p is granted the lock, and those of refused ask for it in vain.
func (s *story) rounds(n int, p histories.Process, refused ...histories.Process) *story {
	for range n {
		at := s.h.End/ms + 1
		s.take(p, at)
		for i, q := range refused {
			s.op(q, "acquire", "fail", at+2, at+2+int64(i)%2, failed(histories.Busy))
		}
	}
	return s
}

// Each edge of who counts as starved.
func TestStarvationAtItsEdges(t *testing.T) {
	begin := func() *story { return tell(histories.LockSpec{TTL: 1000e6}) }
	hosts := func(n string) *story {
		s := begin()
		s.h.Header.Settings = map[string]string{"per-host": n}
		return s
	}
	for name, c := range map[string]struct {
		story *story
		want  string
	}{
		"refused 20 times, and granted to others 21 times": {begin().take(0, 0).rounds(21, 0, 1), "worker 1 was refused stock:sku-1 21 times in a row, from 0.008 s to 0.128 s, while others were granted it 20 times"},
		"granted to others 19 times in between":            {begin().take(0, 0).rounds(20, 0, 1), ""},
		"granted in between":                               {begin().rounds(20, 0, 1).take(1, 1000).rounds(20, 0, 1), ""},
		"perhaps granted in between":                       {begin().rounds(20, 0, 1).op(1, "acquire", "info", 1000, 1001).rounds(20, 0, 1), ""},
		"not reached in between":                           {begin().rounds(20, 0, 1).op(1, "acquire", "fail", 1000, 1001, failed("could not connect")).rounds(1, 0, 1), "worker 1 was refused stock:sku-1 21 times in a row, from 0.00 s to 1.00 s, while others were granted it 20 times"},
		"refused often, granted to nobody":                 {begin().take(0, 0).busy(1, 10).busy(1, 20).busy(1, 30).rounds(1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), ""},
		"three ask for it, and 20 are too few":             {begin().take(2, 0).rounds(30, 0, 1), ""},
		"three ask for it":                                 {begin().take(2, 0).rounds(31, 0, 1), "worker 1 was refused stock:sku-1 31 times in a row, from 0.008 s to 0.188 s, while others were granted it 30 times"},
		"all workers of a host":                            {hosts("2").rounds(11, 2, 0, 1).rounds(11, 3, 0, 1), "workers 0 to 1 were refused stock:sku-1 44 times in a row, from 0.003 s to 0.130 s, while others were granted it 21 times"},
		"one of a host was granted it":                     {hosts("2").rounds(11, 2, 0, 1).take(1, 500).rounds(11, 3, 0, 1), ""},
		"one worker of a host":                             {hosts("2").rounds(41, 1, 0).rounds(1, 2, 3), "worker 0 was refused stock:sku-1 41 times in a row, from 0.003 s to 0.243 s, while others were granted it 40 times"},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			got := ""
			if i := slices.IndexFunc(v.Warnings, func(w Warning) bool { return w.Word == "starvation" }); i >= 0 {
				got = v.Warnings[i].Text
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
