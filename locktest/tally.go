package locktest

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
)

var tallied = flag.Bool("lockcheck.tally", false, "play all seeds also after one that breaks the lock, and log a Tally as a line of JSON")

// Tally counts what the scenes of a lock under a nemesis showed.
type Tally struct {
	Lock    string         `json:"lock"`
	Nemesis string         `json:"nemesis"`
	Scenes  int            `json:"scenes"`
	Broken  int            `json:"broken"`          // scenes whose verdict is invalid
	First   uint64         `json:"first,omitempty"` // the seed of the first of these
	Shown   map[string]int `json:"shown,omitempty"` // scenes by "property: cause" of what they broke
}

// TallyPrefix begins the line of a Tally in the log of a test.
const TallyPrefix = "lockcheck tally: "

// tally plays all scenes of a nemesis.
func (s *subject) tally(t *testing.T, nemesis string) (*Tally, error) {
	sum := &Tally{Lock: s.Name, Nemesis: nemesis, Shown: map[string]int{}}
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
		for _, word := range shown(sc.verdict) {
			sum.Shown[word]++
		}
	}
	return sum, nil
}

// shown are the properties that a verdict found broken, with the causes given,
// each once.
func shown(v *checker.Verdict) []string {
	var words []string
	for _, x := range v.Violations {
		word := string(x.Property)
		if x.Cause != "" {
			word += ": " + string(x.Cause)
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return slices.Compact(words)
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
