package redis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.UnixMilli(1_700_000_000_000)

// words splits a command at spaces.
func words(line string) []string { return strings.Fields(line) }

func TestExpiredKeysAreDeletedByTheMasterAlone(t *testing.T) {
	k := New()
	k.Do(start, Master, words("SET k v PX 100"))
	atEnd, after := start.Add(100*time.Millisecond), start.Add(101*time.Millisecond)

	if got := k.Do(atEnd, Master, words("GET k")).Reply; got != "v" {
		t.Errorf("at the millisecond of its end: GET = %v, want v", got)
	}
	replica := k.Do(after, Replica, words("GET k"))
	if replica.Reply != nil || replica.Effects != nil || k.Len() != 1 {
		t.Errorf("a replica must hide an expired key and keep it: %+v, %d keys", replica, k.Len())
	}
	master := k.Do(after, Master, words("GET k"))
	if diff := cmp.Diff(Result{Effects: [][]string{{"DEL", "k"}}}, master); diff != "" {
		t.Errorf("a master must delete an expired key (-want +got):\n%s", diff)
	}
}

func TestEvictIsDeterministicAndRemovesWhatItNames(t *testing.T) {
	evict := func() ([]string, int) {
		k := New()
		for _, key := range words("a b c d e f g h") {
			k.Do(start, Master, []string{"SET", key, "1"})
		}
		return k.Evict(rand.New(rand.NewPCG(1, 2)), 3), k.Len()
	}
	first, left := evict()
	second, _ := evict()
	if diff := cmp.Diff(first, second); diff != "" || len(first) != 3 || left != 5 {
		t.Errorf("evicted %v then %v, %d keys left", first, second, left)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	k := New()
	k.Do(start, Master, words("SET k 1 PX 100"))
	c := k.Clone()
	k.Do(start, Master, words("INCR k"))
	k.Do(start, Master, words("PERSIST k"))
	if got := c.Do(start, Master, words("GET k")).Reply; got != "1" {
		t.Errorf("clone changed: %v", got)
	}
	if got := c.Do(start, Master, words("PTTL k")).Reply; got != int64(100) {
		t.Errorf("clone's end changed: %v", got)
	}
}
