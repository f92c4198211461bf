package checker

import (
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

func qty(n int64) func(*histories.Op)   { return func(op *histories.Op) { op.Qty = n } }
func value(n int64) func(*histories.Op) { return func(op *histories.Op) { op.Value = histories.N(n) } }

// TestAForgetfulStoreExplainsOnlyWhatItCanHaveDone: sales that were forgotten bring
// units back. They take none away, and nothing is forgotten before it happened.
func TestAForgetfulStoreExplainsOnlyWhatItCanHaveDone(t *testing.T) {
	free := func(settings ...string) *story {
		s := tell(histories.LockSpec{None: true})
		s.h.Header.Initial = 5
		if len(settings) > 0 {
			s.h.Header.Settings = map[string]string{"stock-on": settings[0]}
		}
		return s
	}
	failover := func(s *story, at int64) *story {
		return s.mark(histories.Nemesis, "kill", at, targeting("redis-1")).mark(histories.Nemesis, "promoted", at+5, targeting("redis-2"))
	}
	restart := func(s *story, node string, at int64) *story {
		return s.mark(histories.Nemesis, "kill", at, targeting(node)).mark(histories.Nemesis, "start", at+5, targeting(node))
	}
	for name, c := range map[string]struct {
		story *story
		cause Cause
	}{
		"a sale is forgotten: its unit is there again": {
			failover(free().op(0, "sell", "ok", 0, 5, left(4)), 10).op(1, "read", "ok", 20, 25, value(5)), LostAtFailover},
		"a unit goes that nobody took": {
			failover(free().op(0, "sell", "ok", 0, 5, left(4)), 10).op(1, "read", "ok", 20, 25, value(3)), CauseUnknown},
		"a unit goes that nobody took, sizes mixed": {
			failover(free().op(0, "sell", "ok", 0, 5, qty(2)).op(0, "sell", "ok", 6, 7), 10).op(1, "read", "ok", 20, 25, value(1)), CauseUnknown},
		"all units go with a promotion": {
			failover(free(), 10).op(1, "read", "ok", 20, 25, value(0)), CauseUnknown},
		"all units go with the memory of a server": {
			restart(free(), "redis-1", 10).op(1, "read", "ok", 20, 25, value(0)), RestartedEmpty},
		"all units are thrown away": {
			free().mark(histories.Nemesis, "evict", 10, targeting("redis-1")).op(1, "read", "ok", 20, 25, value(0)), Evicted},
		"a restock is forgotten: its units are gone": {
			failover(free().op(0, "restock", "ok", 0, 5, qty(2)), 10).op(1, "read", "ok", 20, 25, value(5)), LostAtFailover},
		"units go before any came": {
			failover(free().op(0, "sell", "ok", 0, 5), 10).op(1, "read", "ok", 20, 25, value(1)).op(0, "restock", "ok", 30, 35, qty(2)), CauseUnknown},
		"more than there ever were": {
			failover(free().op(0, "sell", "ok", 0, 5), 10).op(1, "read", "ok", 20, 25, value(6)), CauseUnknown},
		"more than there ever were, after a restock": {
			failover(free().op(0, "restock", "ok", 0, 5, qty(2)), 10).op(1, "read", "ok", 20, 25, value(9)), CauseUnknown},
		"sold before the failover": {
			failover(free().op(0, "sell", "ok", 0, 5, left(4)).op(1, "read", "ok", 7, 9, value(5)), 20), CauseUnknown},
		"nothing had been sold by the failover": {
			failover(free(), 10).op(0, "sell", "ok", 20, 25, left(4)).op(1, "read", "ok", 27, 29, value(5)), CauseUnknown},
		"the locks' server fails, and the stock is on another": {
			failover(free("own").op(0, "sell", "ok", 0, 5, left(4)), 10).op(1, "read", "ok", 20, 25, value(5)), CauseUnknown},
		"the stock is on the locks' server, and that fails": {
			failover(free("lock").op(0, "sell", "ok", 0, 5, left(4)), 10).op(1, "read", "ok", 20, 25, value(5)), LostAtFailover},
		"the locks' server restarts, and the stock is on another": {
			restart(free("own").op(0, "sell", "ok", 0, 5, left(4)), "redis-1", 10).op(1, "read", "ok", 20, 25, value(5)), CauseUnknown},
		"the stock's own server restarts": {
			restart(free("own").op(0, "sell", "ok", 0, 5, left(4)), "stock-1", 10).op(1, "read", "ok", 20, 25, value(5)), RestartedEmpty},
		"the stock's own server restarts later": {
			restart(free("own").op(0, "sell", "ok", 0, 5, left(4)), "stock-1", 30).op(1, "read", "ok", 20, 25, value(5)), CauseUnknown},
		"the stock's own server throws keys away": {
			free("own").op(0, "sell", "ok", 0, 5, left(4)).mark(histories.Nemesis, "evict", 10, targeting("stock-1")).op(1, "read", "ok", 20, 25, value(5)), Evicted},
		"a SQL server keeps what was committed": {
			restart(free("sql").op(0, "sell", "ok", 0, 5, left(4)), "sql-1", 10).op(1, "read", "ok", 20, 25, value(5)), CauseUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range c.story.check().Violations {
				if v.Property == StockNotLinearizable {
					if v.Cause != c.cause {
						t.Errorf("cause is %q (%s), want %q", v.Cause, v.Because, c.cause)
					}
					return
				}
			}
			t.Error("no stock-not-linearizable")
		})
	}
}

// TestSalesOfOneUnitAreFoundByWhatTheyTook: also where they took several.
func TestSalesOfOneUnitAreFoundByWhatTheyTook(t *testing.T) {
	for name, c := range map[string]struct {
		story *story
		want  string // the later one and its rival; "" if there are none
	}{
		"the same number left":        {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 5, left(4)).op(1, "sell", "ok", 1, 6, left(4)), "2 1"},
		"the same, answered in turn":  {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 7, left(4)).op(1, "sell", "ok", 1, 6, left(4)), "1 2"},
		"two units, and one of them":  {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 5, left(3), qty(2)).op(1, "sell", "ok", 1, 6, left(4)), "2 1"},
		"two units, and one each":     {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 5, left(3), qty(2)).op(1, "sell", "ok", 1, 6, left(2)), ""},
		"three, one inside, one past": {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 5, left(2), qty(3)).op(1, "sell", "ok", 1, 9, left(2)).op(2, "sell", "ok", 2, 6, left(4)), "3 1"},
		"a restock between":           {tell(histories.LockSpec{}).op(0, "sell", "ok", 0, 5, left(4)).op(0, "restock", "ok", 6, 7).op(1, "sell", "ok", 8, 9, left(4)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := c.story.history()
			var ops []*histories.Op
			for i := range h.Ops {
				ops = append(ops, &h.Ops[i])
			}
			later, first := sameUnits(ops)
			got := ""
			if len(later) > 0 {
				got = strings.Join([]string{sprintf("%d", later[0].ID), sprintf("%d", first.ID)}, " ")
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
