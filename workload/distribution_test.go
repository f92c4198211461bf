package workload

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDistributions(t *testing.T) {
	ms := int64(time.Millisecond)
	for _, c := range []struct {
		name, text string
		want       Distribution // nil: refused
	}{
		{"one value", "20ms", Distribution{{1, 20 * ms, 20 * ms}}},
		{"a range", "1ms-20ms", Distribution{{1, ms, 20 * ms}}},
		{"a share, and the rest", "1ms,10%:2s-3s", Distribution{{0.9, ms, ms}, {0.1, 2000 * ms, 3000 * ms}}},
		{"two parts without a share split the rest", "50%:1ms,2ms,3ms", Distribution{{0.5, ms, ms}, {0.25, 2 * ms, 2 * ms}, {0.25, 3 * ms, 3 * ms}}},
		{"shares of the ttl", "40%ttl-70%ttl", Distribution{{1, 2000 * ms, 3500 * ms}}},
		{"a share, of shares of the ttl", "0s,10%:40%ttl", Distribution{{0.9, 0, 0}, {0.1, 2000 * ms, 2000 * ms}}},
		{"nothing", "", nil},
		{"a number without unit", "20", nil},
		{"a range backwards", "20ms-1ms", nil},
		{"shares above 100 %", "60%:1ms,50%:2ms", nil},
		{"shares below 100 %", "60%:1ms,30%:2ms", nil},
		{"a share that is none", "x%:1ms", nil},
		{"negative", "-1ms", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Durations(c.text, 5*time.Second)
			if c.want == nil {
				if err == nil {
					t.Errorf("%q was accepted as %v", c.text, got)
				}
				return
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-9)); err != nil || diff != "" {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDrawsFollowTheShares(t *testing.T) {
	d, err := Quantities("1,10%:2-3")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	count := map[int64]int{}
	const n = 100_000
	for range n {
		count[d.Draw(r)]++
	}
	for value, share := range map[int64]float64{1: 0.9, 2: 0.05, 3: 0.05} {
		if got := float64(count[value]) / n; got < share-0.01 || got > share+0.01 {
			t.Errorf("%d was drawn in %.3f of the draws, want %.2f", value, got, share)
		}
	}
	if got := d.Mean(); got != 0.9+0.25 {
		t.Errorf("mean %v, want 1.15", got)
	}
}

func TestNoTTLNoShareOfIt(t *testing.T) {
	if _, err := Durations("40%ttl", 0); err == nil {
		t.Error("a share of no ttl was accepted")
	}
}
