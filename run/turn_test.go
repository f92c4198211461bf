package run_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

func TestARunWithATurnIsTheSameUpToItAndAnotherAfterIt(t *testing.T) {
	p := plan(t, "redis-lock", "pause", 1, 10*time.Second)
	p.Interval = 2 * time.Second
	before := play(t, p)
	p.Turns = cluster.Turns{{At: 3 * time.Second, Seed: 7}}
	after := play(t, p)
	if !bytes.Equal(after, play(t, p)) {
		t.Error("one plan made two histories")
	}
	same, rest := 0, 0
	a, b := events(t, before), events(t, after)
	for i := range min(len(a), len(b)) {
		switch early := a[i].Time < int64(3*time.Second); {
		case early && !bytes.Equal(a[i].line, b[i].line):
			t.Fatalf("event %d is another before the turn:\n%s\n%s", i, a[i].line, b[i].line)
		case early:
			same++
		case !bytes.Equal(a[i].line, b[i].line):
			rest++
		}
	}
	if same < 100 || rest < 100 {
		t.Errorf("%d events are the same before the turn, %d are others after it", same, rest)
	}
}

// recorded is a line of a history and its time.
type recorded struct {
	histories.Event
	line []byte
}

// events are those of a history but for its header.
func events(t *testing.T, history []byte) (all []recorded) {
	for i, line := range bytes.Split(bytes.TrimSpace(history), []byte("\n")) {
		if i == 0 {
			continue
		}
		var e histories.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded{e, line})
	}
	return all
}
