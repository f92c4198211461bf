package record_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories/record"
)

const rules = `{"format":"lockcheck-map/1","line":"^(?P<time>\\S+) (?P<host>\\S+) (?P<worker>\\S+): (?P<rest>.*)$","time":"unix-ms",
"events":[{"is":"acquired","match":"^got (?P<key>\\S+)( (?P<token>\\S+))?"},{"is":"releasing","match":"^giving (?P<key>\\S+)( (?P<token>\\S+))?"},
{"is":"released","match":"^gave (?P<key>\\S+)( (?P<token>\\S+))?"},{"is":"wrote","match":"^wrote (?P<stock>\\S+)( under (?P<key>\\S+)( (?P<token>\\S+))?)?"}]}`

func judged(t *testing.T, log string, clockError time.Duration) *checker.Verdict {
	t.Helper()
	m, err := record.ReadMap([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := record.Log(strings.NewReader(log), m)
	if err != nil {
		t.Fatal(err)
	}
	h, err := rec.History(clockError)
	if err != nil {
		t.Fatal(err)
	}
	return checker.Check(context.Background(), h, checker.Options{})
}

func TestAHoldIsAsShortAsTheRecordAllows(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want checker.Outcome
	}{
		"two hold it at once":               {"1000 a 1: got k\n2000 b 1: got k\n3000 a 1: giving k\n4000 b 1: giving k", checker.Invalid},
		"only the end of a release is told": {"1000 a 1: got k\n2000 b 1: got k\n3000 a 1: gave k\n4000 b 1: giving k", checker.Valid},
		"a write under it is a sign":        {"1000 a 1: got k\n2000 b 1: got k\n2500 a 1: wrote s under k\n3000 a 1: gave k\n4000 b 1: giving k", checker.Invalid},
		"a write that names no lock is not": {"1000 a 1: got k\n2000 b 1: got k\n2500 a 1: wrote s\n4000 b 1: giving k", checker.Valid},
		"a release is missing":              {"1000 a 1: got k\n2000 b 1: got k\n3000 b 1: giving k", checker.Valid},
		"a grant is missing":                {"1000 a 1: got k\n2000 b 1: giving k\n3000 a 1: giving k", checker.Valid},
		"by less than the clocks may err":   {"1000 a 1: got k\n2000 b 1: got k\n2015 a 1: giving k\n3000 b 1: giving k", checker.Valid},
	} {
		t.Run(name, func(t *testing.T) {
			if v := judged(t, c.log, 10*time.Millisecond); v.Outcome != c.want {
				t.Errorf("%s, want %s: %s %+v", v.Outcome, c.want, v.Reason, v.First())
			}
		})
	}
}

// Nobody holds a lock at once with another in truth, clocks are wrong by up to the
// error that is stated, and lines are missing: no record of that is a violation.
func TestARightLockIsNeverAccused(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		clock := func() int { return r.IntN(41) - 20 }
		off := []int{clock(), clock(), clock()}
		type line struct {
			at   int
			text string
		}
		var lines []line
		say := func(host, worker, at int, text string) {
			if r.IntN(8) > 0 {
				at += off[host]
				lines = append(lines, line{at, fmt.Sprintf("%d host-%d %d: %s", at, host, worker, text)})
			}
		}
		free := map[string]int{"k": 1000, "l": 1000}
		for n := range 12 {
			token := fmt.Sprintf(" t%d", n)
			host, worker, key := r.IntN(3), r.IntN(2), []string{"k", "l"}[r.IntN(2)]
			from := max(free["k"], free["l"], free[key]) + r.IntN(30) // a worker does one thing at a time
			to := from + r.IntN(60)
			say(host, worker, from, "got "+key+token)
			if r.IntN(2) == 0 {
				say(host, worker, from+(to-from)/2, "wrote sku under "+key+token)
			}
			if r.IntN(2) == 0 {
				say(host, worker, to, "giving "+key+token)
			}
			done := to + r.IntN(40)
			say(host, worker, done, "gave "+key+token)
			free[key] = to
			if r.IntN(2) == 0 {
				free["k"], free["l"] = done, done
			}
		}
		slices.SortStableFunc(lines, func(a, b line) int { return a.at - b.at })
		var log strings.Builder
		for _, l := range lines {
			log.WriteString(l.text + "\n")
		}
		if !strings.Contains(log.String(), "got") {
			continue
		}
		if v := judged(t, log.String(), 20*time.Millisecond); v.Outcome == checker.Invalid {
			t.Fatalf("seed %d: %+v\n%s", seed, v.First(), log.String())
		}
	}
}

func TestAMapIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"lockcheck-map/2","events":[]}`:                                                     `want "lockcheck-map/1"`,
		`{"format":"lockcheck-map/1","events":[]}`:                                                     "there are none",
		`{"format":"lockcheck-map/1","events":[{"is":"aquired","match":"x"}]}`:                         `did you mean "acquired"?`,
		`{"format":"lockcheck-map/1","events":[{"is":"lost","match":"(?P<tokn>x)"}]}`:                  `did you mean "token"?`,
		`{"format":"lockcheck-map/1","events":[{"is":"lost"}]}`:                                        "it would fit everything",
		`{"format":"lockcheck-map/1","event":[{"is":"lost","match":"x"}]}`:                             "event",
		`{"format":"lockcheck-map/1","fields":{"kee":"a"},"events":[{"is":"lost","where":{"a":"x"}}]}`: `did you mean "key"?`,
		`{"format":"lockcheck-map/1","line":"(","events":[{"is":"lost","match":"x"}]}`:                 "missing closing",
	} {
		if _, err := record.ReadMap([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add("1000 a 1: got k\n2000 b 1: got k\n3000 a 1: giving k\n", int64(5))
	m, err := record.ReadMap([]byte(rules))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, log string, clockError int64) {
		rec, err := record.Log(strings.NewReader(log), m)
		if err != nil {
			return
		}
		if _, err := rec.History(time.Duration(max(0, clockError%int64(time.Hour)))); err != nil && !strings.Contains(err.Error(), "means anything") {
			t.Errorf("%q: %v", log, err)
		}
	})
}
