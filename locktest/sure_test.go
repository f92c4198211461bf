package locktest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// One seed is one history, to the byte.
func TestOneSeedIsOneHistory(t *testing.T) {
	for _, nemesis := range Nemeses() {
		var first string
		for i := range 3 {
			s := subject{Config: Config{TTL: 5 * time.Second}, servers: 1, make: func(c []redis.UniversalClient) Lock {
				return ours{c: c[0], ttl: 5 * time.Second}
			}}
			if err := s.settle(t); err != nil {
				t.Fatal(err)
			}
			sc := &scene{subject: &s, nemesis: nemesis, seed: 7}
			if err := sc.play(t); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = string(sc.recorded)
			} else if first != string(sc.recorded) {
				t.Errorf("%s: another history at try %d: %s", nemesis, i+1, difference(first, string(sc.recorded)))
			}
		}
	}
}

// A lock that never works is no lock that holds.
func TestALockThatNeverWorksIsAnError(t *testing.T) {
	broken := errors.New("no route to nowhere")
	s := subject{Config: Config{Nemeses: []string{none}}, servers: 1, make: func([]redis.UniversalClient) Lock { return never{broken} }}
	if err := s.settle(t); !errors.Is(err, broken) {
		t.Errorf("settle says %v, want the lock's error", err)
	}
	s.TTL = time.Second
	if err := s.settle(t); err != nil {
		t.Fatal(err)
	}
	s.Seeds = 2
	if _, err := s.search(t, none); err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("search says %v, want the lock's error", err)
	}
}

type never struct{ err error }

func (n never) Acquire(context.Context, string) (Hold, error) { return nil, n.err }

// difference is the first line at which two histories differ.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return as[i] + "\nand\n" + bs[i]
		}
	}
	return "one is longer"
}
