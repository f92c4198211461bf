package workload

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestWorkersOfAMixedFleetHaveTheirOwnLease(t *testing.T) {
	for text, want := range map[string][3]time.Duration{
		"3s":       {3 * time.Second, 3 * time.Second, 3 * time.Second},
		"3s,500ms": {3 * time.Second, 500 * time.Millisecond, 3 * time.Second},
		"1s,2s,3s": {time.Second, 2 * time.Second, 3 * time.Second},
	} {
		given := Spec{Design: "watchdog"}
		if err := given.SetTTL(text); err != nil {
			t.Fatal(err)
		}
		s, err := given.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		for worker, ttl := range want {
			if o := s.options(worker); o.TTL != ttl || o.Renew != ttl/3 {
				t.Errorf("%s: worker %d has a lease of %v, renewed each %v; want %v and a third", text, worker, o.TTL, o.Renew, ttl)
			}
		}
		if h := s.Header(); h.Lock.TTL != 3*time.Second || h.Settings["ttl"] != (&s).ttl() {
			t.Errorf("%s: the header says ttl %v, settings %v", text, h.Lock.TTL, h.Settings["ttl"])
		}
	}
}

func TestAMixedFleetSaysEachLeaseInItsHistory(t *testing.T) {
	for text, want := range map[string]int64{"3s": 0, "3s,500ms": 500e6} {
		given := Spec{Design: "redis-lock"}
		if err := given.SetTTL(text); err != nil {
			t.Fatal(err)
		}
		s, err := given.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		k := newWorker(s, &env.Env{Worker: 1, Lock: make([]env.Redis, 1), Rand: rand.New(rand.NewPCG(1, 1))}, nil)
		var asked histories.Event
		k.till.Begin = func(e histories.Event) (int64, func(histories.Event)) {
			asked = e
			return 1, func(histories.Event) {}
		}
		k.till.Extending("k", "t")
		if asked.TTL != want {
			t.Errorf("%s: worker 1 says ttl %d, want %d", text, asked.TTL, want)
		}
	}
}

func TestLeasesOfAFleetThatMakeNoSenseAreRefused(t *testing.T) {
	for _, text := range []string{"3s,", "3s,x", "3s,0s", "3s,-1s", "3s,1us"} {
		s := Spec{Design: "redis-lock"}
		err := s.SetTTL(text)
		if err == nil {
			_, err = s.Resolved()
		}
		if err == nil {
			t.Errorf("--ttl=%s is accepted", text)
		}
	}
}
