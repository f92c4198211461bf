package hostile_test

import (
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/histories/hostile"
)

// What the strict reader refuses measures the reader alone.
func TestEveryShapeIsAValidHistoryOfAboutItsSize(t *testing.T) {
	const n = 1200
	small := map[string]bool{"wild": true, "long-key": true} // their cost is a number, or a name
	for _, s := range hostile.Shapes {
		t.Run(s.Name, func(t *testing.T) {
			h, err := histories.ReadJSON(strings.NewReader(s.String(n)))
			if err != nil {
				t.Fatal(err)
			}
			if size := len(h.Ops) + len(h.Marks); !small[s.Name] && (size < n/3 || size > 2*n) {
				t.Errorf("%d operations and marks, want about %d", size, n)
			}
			if strings.Contains(s.String(n), "%!") {
				t.Error("a verb of fmt went wrong in it")
			}
			if hostile.Named(s.Name) == nil {
				t.Error("its name finds nothing")
			}
		})
	}
}
