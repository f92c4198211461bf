package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func TestANumberAgain(t *testing.T) {
	valid := map[string]string{"verdict": "valid"}
	reentrant := histories.LockSpec{Fenced: true, Reentrant: true}
	first := func() *story { return tell(reentrant).op(0, "acquire", "ok", 0, 1, token("a"), fence(2)) }
	anew := func(s *story) *story {
		return s.op(0, "acquire", "ok", 20, 21, token("z"), fence(2)).op(0, "release", "ok", 30, 31, token("z"))
	}
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"after a release": {anew(first().op(0, "release", "ok", 5, 6, token("a"))), map[string]string{"fence-regression": "3"}},
		"after a release whose answer was on its way to the next call": {
			anew(first().op(0, "release", "ok", 5, 20, token("a"))), map[string]string{"fence-regression": "3"}},
		"after a release that was still under way":       {anew(first().op(0, "release", "ok", 5, 22, token("a"))), valid},
		"after a release of unknown outcome":             {anew(first().op(0, "release", "info", 5, 6, token("a"))), valid},
		"after a release of something else":              {anew(first().op(1, "acquire", "info", 2, 3, token("b")).op(0, "release", "info", 5, 6, token("b"))), valid},
		"while one of two is held":                       {anew(first().op(0, "acquire", "ok", 3, 4, token("b"), fence(2)).op(0, "release", "ok", 5, 6, token("a"))), valid},
		"while one more may be held":                     {anew(first().op(0, "acquire", "info", 3, 4, token("b")).op(0, "release", "ok", 5, 6, token("a"))), valid},
		"after both of two were released":                {anew(first().op(0, "acquire", "ok", 3, 4, token("b"), fence(2)).op(0, "release", "ok", 5, 6, token("b")).op(0, "release", "ok", 7, 8, token("a"))), map[string]string{"fence-regression": "5"}},
		"taken again by an acquire that nobody answered": {anew(first().op(0, "release", "ok", 5, 6, token("a")).op(0, "acquire", "info", 7, 8, token("b"))), map[string]string{"fence-regression": "4"}},
		"after a release that does not name its grant":   {anew(first().op(0, "release", "ok", 5, 6)), map[string]string{"fence-regression": "3"}},
		"by another worker while the first still has it …": {
			first().op(1, "acquire", "ok", 20, 21, token("z"), fence(2)).op(0, "release", "ok", 21, 22, token("a")).op(1, "release", "ok", 30, 31, token("z")),
			map[string]string{"fence-regression": "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" || len(v.Notes) > 0 {
				t.Errorf("wanted and blamed differ (-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}
