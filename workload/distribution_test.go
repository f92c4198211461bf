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
		{"a day", "24h", Distribution{{1, 86_400_000 * ms, 86_400_000 * ms}}},
		{"more than a day", "24h1ns", nil},
		{"more than an int64 has", "9999999h", nil},
		{"a day, as a share of the ttl", "1728000%ttl", Distribution{{1, 86_400_000 * ms, 86_400_000 * ms}}},
		{"more than a day, as a share of the ttl", "1728001%ttl", nil},
		{"a share of the ttl beyond every float", "1e999%ttl", nil},
		{"NaN of the ttl", "NaN%ttl", nil},
		{"up to NaN of the ttl", "0s-nan%ttl", nil},
		{"infinitely many ttl", "Inf%ttl", nil},
		{"a negative share of the ttl", "-5%ttl", nil},
		{"NaN of the draws", "NaN%:1ms,2ms", nil},
		{"infinitely many draws", "Inf%:1ms", nil},
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

func TestRefusedValuesAreNamed(t *testing.T) {
	durations := func(s string) error { _, err := Durations(s, 5*time.Second); return err }
	quantities := func(s string) error { _, err := Quantities(s); return err }
	for _, c := range []struct {
		text  string
		parse func(string) error
		want  string
	}{
		{"NaN%ttl", durations, `"NaN%ttl" is no share of the TTL`},
		{"+Inf%ttl", durations, `"+Inf%ttl" is no share of the TTL`},
		{"1e999%ttl", durations, `"1e999%ttl" of 5s is longer than 24h0m0s`},
		{"25h", durations, `"25h" is longer than 24h0m0s`},
		{"NaN%:1ms", durations, `"NaN" is no share in percent`},
		{"NaN", quantities, `"NaN" is no quantity`},
		{"0", quantities, `"0" is no quantity`},
		{"1000000001", quantities, `"1000000001" is more than 1000000000`},
		{"99999999999999999999", quantities, `"99999999999999999999" is more than 1000000000`},
	} {
		if err := c.parse(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%q: error %v, want %s", c.text, err, c.want)
		}
	}
}
