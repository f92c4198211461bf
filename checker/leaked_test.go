package checker

import (
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

// Units that are gone are put down to a death where that explains them all, and
// to nothing where a sell that only timed out may have taken them.
func TestWhyUnitsAreGone(t *testing.T) {
	none := histories.LockSpec{None: true}
	for name, c := range map[string]struct {
		story   *story
		left    int64
		cause   Cause
		because string
	}{
		"killed after its write": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).op(0, "write", "ok", 2, 3, parent(1)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")),
			4, DiedHalfway, "worker 0 was killed at 0.005 s in the midst of op 1, which has no order",
		},
		"timed out after its write, while another was killed in its own": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).op(0, "write", "info", 2, -1, parent(1)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).
				op(1, "sell", "info", 10, 20, orderID("b")).op(1, "write", "ok", 12, 13, parent(3)),
			4, CauseUnknown, "op 3 of worker 1 has no order",
		},
		"timed out in its write, while another was killed after its own": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).op(0, "write", "ok", 2, 3, parent(1)).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).
				op(1, "sell", "info", 10, 20, orderID("b")).op(1, "write", "info", 12, 13, parent(3)),
			4, DiedHalfway, "op 1",
		},
		"either may have taken the one unit": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).mark(histories.Nemesis, "kill", 5, targeting("worker-0")).op(1, "sell", "info", 10, 20, orderID("b")),
			4, CauseUnknown, "op 1",
		},
		"two were killed": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).op(1, "sell", "info", 1, -1, orderID("b")).mark(histories.Nemesis, "kill", 5, targeting("worker-0", "worker-1")),
			3, DiedHalfway, "in the midst of op 1, which has no order; 1 more sell ended like it",
		},
		"more is gone than they asked for": {
			tell(none).op(0, "sell", "info", 0, -1, orderID("a")).mark(histories.Nemesis, "kill", 5, targeting("worker-0")),
			3, CauseUnknown, "op 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.story.audit(3000, c.left)
			s.h.Audits[0].Orders = []histories.Order{}
			s.h.Header.Initial = 5
			v := s.check()
			if len(v.Violations) != 1 || v.Violations[0].Property != StockMismatch || v.Violations[0].Cause != c.cause || !strings.Contains(v.Violations[0].Because, c.because) {
				t.Errorf("want one stock-mismatch, %q (… %s …):\n%s", c.cause, c.because, told(v))
			}
		})
	}
}
