package locktest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
)

var tallied = flag.Bool("lockcheck.tally", false, "play all seeds also after one that breaks the lock, and log a Tally as a line of JSON")

// Tally counts what the scenes of a lock under a nemesis showed.
type Tally struct {
	Lock    string         `json:"lock"`
	Nemesis string         `json:"nemesis"`
	Scenes  int            `json:"scenes"`
	Broken  int            `json:"broken"`           // scenes whose verdict is invalid
	First   uint64         `json:"first,omitempty"`  // the seed of the first of these
	Broke   map[string]int `json:"broke,omitempty"`  // scenes by the property that they broke
	Causes  map[string]int `json:"causes,omitempty"` // scenes by "property: cause"
}

// TallyPrefix begins the line of a Tally in the log of a test.
const TallyPrefix = "lockcheck tally: "

// tally plays all scenes of a nemesis.
func (s *subject) tally(t *testing.T, nemesis string) (*Tally, error) {
	sum := &Tally{Lock: s.Name, Nemesis: nemesis, Broke: map[string]int{}, Causes: map[string]int{}}
	for seed := uint64(1); seed <= uint64(s.Seeds); seed++ {
		sc := &scene{subject: s, nemesis: nemesis, seed: seed}
		if err := sc.play(t); err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		sum.Scenes++
		if sc.verdict.Outcome != checker.Invalid {
			continue
		}
		if sum.Broken++; sum.First == 0 {
			sum.First = seed
		}
		sum.count(sc.verdict)
	}
	return sum, nil
}

// count adds what one scene broke, each property and each cause once.
func (sum *Tally) count(v *checker.Verdict) {
	properties, causes := map[string]bool{}, map[string]bool{}
	for _, x := range v.Violations {
		properties[string(x.Property)] = true
		causes[string(x.Property)+": "+cmp.Or(string(x.Cause), "no cause")] = true
	}
	for p := range properties {
		sum.Broke[p]++
	}
	for c := range causes {
		sum.Causes[c]++
	}
}

func (s *subject) logTally(t *testing.T, nemesis string) {
	t.Helper()
	sum, err := s.tally(t, nemesis)
	if err != nil {
		t.Errorf("%s under %s: %v", s.Name, nemesis, err)
		return
	}
	line, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(TallyPrefix + string(line))
}
