package linear

import (
	"bytes"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

func TestPictureDrawsTheWindowOfAKey(t *testing.T) {
	h := &histories.History{
		Header: histories.Header{Initial: 3},
		Ops: []histories.Op{
			{ID: 1, Process: 0, F: histories.Acquire, Key: "lock", Token: "a", Qty: 1, Call: 1, Return: 2, Outcome: histories.OK},
			{ID: 2, Process: 1, F: histories.Acquire, Key: "lock", Token: "b", Qty: 1, Call: 3, Return: 4, Outcome: histories.OK},
			{ID: 3, Process: 0, F: histories.Sell, Key: "sku", Qty: 1, Call: 5, Return: 6, Outcome: histories.OK, Left: histories.N(2)},
			{ID: 4, Process: 1, F: histories.Sell, Key: "sku", Qty: 1, Call: 5, Return: histories.Never, Outcome: histories.Info},
			{ID: 5, Process: 0, F: histories.Sell, Key: "sku", Qty: 2, Call: 90, Return: 91, Outcome: histories.OK},
		},
	}
	tests := map[string]struct {
		key        string
		from, to   int64
		has, lacks string
	}{
		"two grants of a lock":       {"lock", 2, 3, "op 2: acquire", "op 3"},
		"the sales in the window":    {"sku", 5, 6, "op 3: sell", "op 5"},
		"an unknown sale stays open": {"sku", 5, 6, "op 4: sell → unknown", "op 5"},
		"a window without the start": {"sku", 90, 95, "op 5: sell 2", "op 3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			page, err := Picture(h, tt.key, tt.from, tt.to)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(page, []byte("<html")) || !bytes.Contains(page, []byte(tt.has)) {
				t.Errorf("the page does not show %q", tt.has)
			}
			if bytes.Contains(page, []byte(tt.lacks+":")) {
				t.Errorf("the page shows %q", tt.lacks)
			}
		})
	}
	if _, err := Picture(h, "nothing", 0, 1); err == nil {
		t.Error("a key without operations has a picture")
	}
}
