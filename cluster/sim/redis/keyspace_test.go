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

// filled holds one key of each type.
func filled() *Keyspace {
	k := New()
	for _, line := range []string{
		"SET s 1 PX 100000", "HSET h f 1 g 2", "RPUSH l a b", "SADD t m n", "ZADD z 1 m 2 n",
	} {
		k.Do(start, Master, words(line))
	}
	return k
}

func TestCloneSharesNothing(t *testing.T) {
	k := filled()
	c := k.Clone()
	before := raw(c)
	for _, line := range []string{
		"INCR s", "PERSIST s", "HSET h g 3", "HDEL h f", "LPOP l", "RPUSH l c", "SREM t m", "SADD t o", "ZREM z m", "ZADD z 3 n",
	} {
		if bad, isError := k.Do(start, Master, words(line)).Reply.(Error); isError {
			t.Fatal(line, bad)
		}
	}
	if diff := cmp.Diff(before, raw(c)); diff != "" {
		t.Errorf("the clone changed with the original (-before +after)\n%s", diff)
	}
}

func TestCloneForgetsScriptsAndRestoreKeepsThem(t *testing.T) {
	const sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	k := filled()
	k.Do(start, Master, []string{"SCRIPT", "LOAD", "return 1"})
	if got := k.Clone().Do(start, Master, words("EVALSHA "+sha+" 0")).Reply; got != noScriptError {
		t.Errorf("a snapshot knows a script: %v", got)
	}
	k.Restore(New())
	if got := k.Do(start, Master, words("EVALSHA "+sha+" 0")).Reply; got != int64(1) || k.Len() != 0 {
		t.Errorf("after a resync: EVALSHA = %v, %d keys", got, k.Len())
	}
}

func TestExpireDeletesWhatHasEndedAndSaysSo(t *testing.T) {
	k := New()
	for _, line := range []string{"SET b v PX 10", "SET a v PX 20", "SET later v PX 30", "SET ever v"} {
		k.Do(start, Master, words(line))
	}
	want := [][]string{{"DEL", "a"}, {"DEL", "b"}}
	if diff := cmp.Diff(want, k.Expire(start.Add(21*time.Millisecond))); diff != "" || k.Len() != 2 {
		t.Errorf("%d keys left; effects (-want +got)\n%s", k.Len(), diff)
	}
}

func TestPublishedMessagesAreAnswered(t *testing.T) {
	k := New()
	script := "redis.call('publish', 'c', 'one') redis.call('publish', 'd', 'two') return 'done'"
	want := Result{
		Reply:     "done",
		Effects:   [][]string{{"PUBLISH", "c", "one"}, {"PUBLISH", "d", "two"}},
		Published: []Message{{"c", "one"}, {"d", "two"}},
	}
	if diff := cmp.Diff(want, k.Do(start, Master, []string{"EVAL", script, "0"})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = Result{Reply: int64(0), Published: []Message{{"c", "m"}}}
	if diff := cmp.Diff(want, k.Do(start, Replica, words("PUBLISH c m"))); diff != "" {
		t.Errorf("a replica keeps its messages to itself (-want +got)\n%s", diff)
	}
}

func TestApplyingWhatNoMasterSendsPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong effect went unnoticed")
		}
	}()
	filled().Apply(start, words("INCR h"))
}
