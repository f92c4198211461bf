package explore

import (
	"flag"
	"runtime"
	"testing"

	"github.com/lockcheck/lockcheck/workload"
)

var (
	claimDeviations = flag.Int("deviations", 1, "play all schedules with so many, for claims about distances")
	claimWorkers    = flag.Int("scene-workers", 2, "workers in the scenes for claims about distances")
)

// Every design of the catalogue is as far from breaking as it claims.
func TestDesignsAreAsFarFromBreakingAsTheyClaim(t *testing.T) {
	for _, d := range workload.Designs() {
		claim, ok := workload.DistanceOf(d.Name)
		if !ok {
			t.Errorf("%s claims no distance", d.Name)
			continue
		}
		s := &Search{Scene: sceneOf(t, d.Name, Size{Workers: *claimWorkers}), Deviations: *claimDeviations, Lanes: runtime.GOMAXPROCS(0)}
		r := search(t, s)
		for i, level := range Levels {
			broken := 0
			if b := r.Broken[i]; b != nil {
				broken = b.Deviations()
			}
			if s := claim[i].Surprise(r.Broken[i] != nil, broken, r.Bears()); s != "" {
				t.Errorf("%s: the %s level claims %s: %+v", d.Name, level, s, r.Broken[i])
			}
		}
		if r.Unknown > 0 {
			t.Errorf("%s: the checker could not decide on %d schedules", d.Name, r.Unknown)
		}
	}
}

// A known-bad design breaks with at most two deviations, and a control that claims
// to sell nothing wrongly bears one at the business level.
func TestClaimsOfDistancesFitTheDesigns(t *testing.T) {
	for _, d := range workload.Designs() {
		claim, _ := workload.DistanceOf(d.Name)
		nearest := 9
		for _, r := range claim {
			if r.Breaks >= 0 {
				nearest = min(nearest, r.Breaks)
			}
		}
		if d.KnownBad && nearest > 2 {
			t.Errorf("%s is known bad, and claims %v", d.Name, claim)
		}
		if business := claim[2]; d.SellsRight() && (business.Breaks >= 0 || business.Bears < 1) {
			t.Errorf("%s claims to sell right, and of its business level that it %v", d.Name, business)
		}
	}
}

func TestASurpriseIsWhatContradictsAClaim(t *testing.T) {
	for _, c := range []struct {
		bears, breaks int
		broken        bool
		with, played  int
		surprise      bool
	}{
		{0, 1, true, 1, 1, false},
		{0, 1, true, 0, 1, true},   // broke earlier
		{0, 1, false, 0, 1, true},  // did not break
		{0, 1, false, 0, 0, false}, // was not played far enough
		{1, -1, false, 0, 2, false},
		{1, -1, true, 2, 2, false}, // beyond what it claims
		{1, -1, true, 1, 2, true},
		{0, 0, true, 0, 0, false},
		{0, 0, false, 0, 1, true},
	} {
		r := workload.Reach{Bears: c.bears, Breaks: c.breaks}
		if s := r.Surprise(c.broken, c.with, c.played); (s != "") != c.surprise {
			t.Errorf("%v, broken %v with %d, played up to %d: %q", r, c.broken, c.with, c.played, s)
		}
	}
}
