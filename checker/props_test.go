package checker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func onKey(key string) func(*histories.Op) { return func(op *histories.Op) { op.Key = key } }

// sellUnder is a sell by p that takes a lock, writes and releases; the sell is
// operation number first.
func (s *story) sellUnder(p histories.Process, first, at int64) *story {
	return s.op(p, "sell", "ok", at, at+9).op(p, "acquire", "ok", at+1, at+2, parent(first), token("t")).op(p, "write", "ok", at+3, at+4, parent(first)).op(p, "release", "ok", at+5, at+6, parent(first), token("t"))
}

// Each edge of the rule about writes without a lock.
func TestUnlockedWritesAtTheirEdges(t *testing.T) {
	none := map[string]string{"verdict": "valid"}
	base := func() *story {
		s := tell(histories.LockSpec{TTL: 1000e6, Grace: 500e6})
		s.h.Header.Initial = 9
		return s.sellUnder(0, 1, 0)
	}
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"never asked":                                             {base().op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24, parent(5)), map[string]string{"unlocked-write": "6"}},
		"refused, and wrote all the same":                         {base().op(1, "sell", "ok", 20, 30).op(1, "acquire", "fail", 21, 22, parent(5), failed("busy")).op(1, "write", "ok", 23, 24, parent(5)), map[string]string{"unlocked-write": "7"}},
		"asked as it wrote":                                       {base().op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24, parent(5)).op(1, "acquire", "ok", 22, 24, parent(5)).op(1, "release", "ok", 27, 28, parent(5)), map[string]string{"verdict": "valid"}},
		"asked after it wrote":                                    {base().op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24, parent(5)).op(1, "acquire", "ok", 25, 26, parent(5)).op(1, "release", "ok", 27, 28, parent(5)), map[string]string{"unlocked-write": "6"}},
		"asked, with an unknown outcome":                          {base().op(1, "sell", "ok", 20, 30).op(1, "acquire", "info", 21, 22, parent(5)).op(1, "write", "ok", 23, 24, parent(5)), none},
		"refused first, then granted":                             {base().op(1, "sell", "ok", 20, 30).op(1, "acquire", "fail", 21, 22, parent(5), failed("busy")).op(1, "acquire", "ok", 22, 23, parent(5)).op(1, "write", "ok", 24, 25, parent(5)).op(1, "release", "ok", 26, 27, parent(5)), none},
		"the store refused it":                                    {base().op(1, "sell", "fail", 20, 30, failed("changed")).op(1, "write", "fail", 22, 24, parent(5)), none},
		"it may not have acted":                                   {base().op(1, "sell", "info", 20, 30).op(1, "write", "info", 22, 24, parent(5)), none},
		"it names no sell":                                        {base().op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24), none},
		"an acquire that names no sell":                           {base().op(1, "sell", "ok", 20, 30).op(1, "acquire", "ok", 21, 22).op(1, "write", "ok", 23, 24, parent(5)).op(1, "release", "ok", 26, 27), none},
		"a lock kept from an earlier sell":                        {base().op(1, "sell", "ok", 20, 22).op(1, "acquire", "ok", 20, 21, parent(5)).op(1, "sell", "ok", 23, 26).op(1, "write", "ok", 24, 25, parent(7)).op(1, "release", "ok", 27, 28), none},
		"a lock given back before":                                {base().op(1, "sell", "ok", 20, 23).op(1, "acquire", "ok", 20, 21, parent(5)).op(1, "release", "ok", 21, 22, parent(5)).op(1, "sell", "ok", 24, 27).op(1, "write", "ok", 25, 26, parent(8)), map[string]string{"unlocked-write": "9"}},
		"a lock of the life before":                               {base().op(1, "acquire", "ok", 20, 21).mark(histories.Nemesis, "kill", 22, targeting("worker-1")).mark(histories.Nemesis, "start", 23, targeting("worker-1")).op(1, "sell", "ok", 24, 27).op(1, "write", "ok", 25, 26, parent(6)), map[string]string{"unlocked-write": "7"}},
		"a lock of the sell around it":                            {base().op(1, "sell", "ok", 20, 30, onKey("cart")).op(1, "acquire", "ok", 21, 22, parent(5)).op(1, "sell", "ok", 23, 28, parent(5)).op(1, "write", "ok", 24, 25, parent(7)).op(1, "release", "ok", 28, 29, parent(5)), none},
		"after an acquire of a sell that is not in the history":   {tell(histories.LockSpec{TTL: 1000e6}).op(2, "acquire", "ok", -10, -9, parent(99)).op(2, "release", "ok", -8, -7, parent(99)).sellUnder(0, 3, 0).op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24, parent(7)), map[string]string{"unlocked-write": "8"}},
		"another lock for every sell":                             {base().op(1, "sell", "ok", 20, 30).op(1, "acquire", "ok", 21, 22, parent(5), onKey("stock:c2")).op(1, "write", "ok", 23, 24, parent(5)).op(1, "release", "ok", 26, 27, parent(5), onKey("stock:c2")), none},
		"others of another stock key have locks":                  {base().op(1, "sell", "ok", 20, 30, onKey("sku-2")).op(1, "write", "ok", 22, 24, parent(5), onKey("sku-2")), none},
		"a lock that another process took for the sell around it": {base().op(1, "sell", "ok", 20, 30, onKey("cart")).op(2, "acquire", "ok", 21, 22, parent(5)).op(1, "sell", "ok", 23, 28, parent(5)).op(1, "write", "ok", 24, 25, parent(7)).op(2, "release", "ok", 28, 29, parent(5)), none},
		"others of this key asked, and have no answer":            {base().op(1, "sell", "ok", 20, 30, onKey("sku-2")).op(1, "write", "ok", 22, 24, parent(5), onKey("sku-2")).op(2, "sell", "ok", 40, 50, onKey("sku-2")).op(2, "acquire", "info", 41, 42, parent(7), onKey("stock:sku-2")).op(2, "write", "ok", 43, 44, parent(7), onKey("sku-2")), none},
		"nobody was ever granted a lock": {
			tell(histories.LockSpec{TTL: 1000e6}).op(0, "sell", "ok", 0, 9).op(0, "acquire", "info", 1, 2, parent(1)).op(0, "write", "ok", 3, 4, parent(1)).op(1, "sell", "ok", 20, 30).op(1, "write", "ok", 22, 24, parent(4)), none,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.story.h.Header.Initial = 9
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}

// Each thing that may have ended a lease, and the moment at which it may end.
func TestLostLeasesAtTheirEdges(t *testing.T) {
	none := map[string]string{"verdict": "valid"}
	lost := func(op string) map[string]string { return map[string]string{"lease-lost": op} }
	refused := failed(histories.NotOwner)
	begin := func() *story { return tell(withLease).op(0, "acquire", "ok", 0, 2, token("a")) }
	release := func(s *story, call, ret int64) *story {
		return s.op(0, "release", "fail", call, ret, token("a"), refused)
	}
	for name, c := range map[string]struct {
		story *story
		want  map[string]string
	}{
		"in the middle of the lease":                                  {release(begin(), 100, 102), lost("2")},
		"a shorter lease of its own was over":                         {release(tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), func(op *histories.Op) { op.TTL = 50 * ms }), 100, 102), none},
		"just before it may end":                                      {release(begin(), 980, 989), lost("2")},
		"as clocks that run apart may let it end":                     {release(begin(), 980, 990), none},
		"a renewal counts from its call":                              {release(begin().op(0, "extend", "ok", 500, 600, token("a")), 1480, 1489), lost("3")},
		"a renewal not answered yet counts for none":                  {release(begin().op(0, "extend", "ok", 900, 1200, token("a")), 1000, 1100), none},
		"its own deadline had passed":                                 {release(tell(withLease).op(0, "acquire", "ok", 0, 2, token("a"), until(300)), 300, 301), none},
		"an extend is refused":                                        {begin().op(0, "extend", "fail", 100, 102, token("a"), refused), lost("2")},
		"each lease is told once":                                     {release(release(begin(), 100, 102), 110, 112), lost("2")},
		"it failed for another reason":                                {begin().op(0, "release", "fail", 100, 102, token("a"), failed("connection refused")), none},
		"the token of another acquire":                                {begin().op(0, "release", "fail", 100, 102, token("x"), refused), none},
		"the acquire is in doubt":                                     {tell(withLease).op(0, "acquire", "info", 0, 2, token("a")).op(0, "release", "fail", 100, 102, token("a"), refused), none},
		"it was released before":                                      {release(begin().op(0, "release", "ok", 50, 52, token("a")), 100, 102), none},
		"its release before is in doubt":                              {release(begin().op(0, "release", "info", 50, 52, token("a")), 100, 102), none},
		"a renewal beside its release":                                {begin().op(0, "extend", "fail", 100, 104, token("a"), refused).op(0, "release", "ok", 102, 103, token("a")), none},
		"a server was hit":                                            {release(begin().mark(histories.Nemesis, "kill", 50, targeting("redis-1")), 100, 102), none},
		"a clock was skewed":                                          {release(begin().mark(histories.Nemesis, "skew", 50, targeting("redis-1"), func(e *histories.Event) { e.Fault = &histories.Fault{F: "skew", Offset: 1} }), 100, 102), none},
		"keys were thrown away":                                       {release(begin().mark(histories.Nemesis, "evict", 50, targeting("redis-1")), 100, 102), none},
		"a server was hit afterwards":                                 {release(begin(), 100, 102).mark(histories.Nemesis, "kill", 150, targeting("redis-1")), lost("2")},
		"its worker was frozen meanwhile":                             {release(begin().mark(histories.Nemesis, "pause", 101, targeting("worker-0")).mark(histories.Nemesis, "resume", 150, targeting("worker-0")), 100, 160), none},
		"its worker was frozen before":                                {release(begin().mark(histories.Nemesis, "pause", 50, targeting("worker-0")).mark(histories.Nemesis, "resume", 90, targeting("worker-0")), 100, 102), lost("2")},
		"a janitor":                                                   {release(begin().op(2, "break", "ok", 50, 52, token("a")), 100, 102), none},
		"a janitor of another lock":                                   {release(begin().op(2, "break", "ok", 50, 52, token("b")), 100, 102), lost("3")},
		"a release by another in doubt":                               {release(begin().op(1, "release", "info", 50, 52, token("b")), 100, 102), none},
		"a release by another that had nothing":                       {release(begin().op(1, "release", "ok", 50, 52, token("b")), 100, 102), map[string]string{"foreign-release": "2"}},
		"another released its own just before":                        {tell(withLease).op(1, "acquire", "ok", 0, 1, token("b")).op(0, "acquire", "ok", 5, 20, token("a")).op(1, "release", "ok", 10, 12, token("b")).op(0, "release", "fail", 100, 102, token("a"), refused), lost("4")},
		"another released what may have been over, as it was granted": {tell(withLease).op(1, "acquire", "ok", 0, 1, token("b")).op(0, "acquire", "ok", 900, 1015, token("a")).op(1, "release", "ok", 1005, 1012, token("b")).op(0, "release", "fail", 1100, 1102, token("a"), refused), none},
		"a chain of foreign releases": {
			tell(withLease).op(2, "acquire", "ok", 0, 1, token("c")).op(2, "release", "ok", 1020, 1022, token("c")).op(0, "acquire", "ok", 1010, 1012, token("a")).
				op(1, "acquire", "ok", 1025, 1032, token("b")).op(0, "release", "ok", 1031, 1040, token("a")).op(1, "release", "fail", 1060, 1062, token("b"), refused),
			map[string]string{"double-hold": "1,3", "foreign-release": "2"},
		},
		"a worker's clock was skewed":    {release(begin().mark(histories.Nemesis, "skew", 50, targeting("worker-0"), func(e *histories.Event) { e.Fault = &histories.Fault{F: "skew", Offset: 1} }).mark(histories.Nemesis, "heal", 90), 100, 102), none},
		"an acquire in doubt came after": {release(begin().op(0, "acquire", "info", 50, 52, token("b")), 100, 102), none},
		"another was granted it":         {release(begin().op(1, "acquire", "ok", 50, 52, token("b")), 100, 102), map[string]string{"double-hold": "1,2"}},
		"a release that names no token":  {begin().op(0, "release", "fail", 100, 102, refused), lost("2")},
		"a grant that has no token":      {tell(withLease).op(0, "acquire", "ok", 0, 2).op(0, "release", "fail", 100, 102, token("a"), refused), lost("2")},
		"it asks for it again meanwhile": {release(begin().op(0, "acquire", "fail", 50, 52, failed("busy")), 100, 102), lost("3")},
		"it could not connect before":    {release(begin().op(0, "release", "fail", 50, 52, token("a"), failed("could not connect")), 100, 102), lost("3")},
		"no lease, no ttl":               {tell(histories.LockSpec{}).op(0, "acquire", "ok", 0, 2, token("a")).op(0, "release", "fail", 100, 102, token("a"), refused), map[string]string{"lock-not-linearizable": "1,2"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.story.check()
			if diff := cmp.Diff(c.want, blamed(v)); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, told(v))
			}
		})
	}
}
