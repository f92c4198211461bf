package command

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// served runs lockcheck redis, and answers the addresses of its servers and the
// lines that it says afterwards.
func served(t *testing.T, args ...string) (at map[string]string, said <-chan string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Program{}.execute(ctx, append([]string{"redis", "--listen=127.0.0.1:0"}, args...), strings.NewReader(""), io.Discard, in)
		_ = in.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitValid {
			t.Errorf("it ended with exit code %d", code)
		}
	})
	at = map[string]string{}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "simulated servers") {
		if server, address, is := strings.Cut(lines.Text(), "listens on"); is {
			at[strings.TrimSpace(server)] = strings.TrimSpace(address)
		} else {
			t.Fatal(lines.Text())
		}
	}
	rest := make(chan string, 1000)
	go func() {
		for lines.Scan() {
			rest <- lines.Text()
		}
	}()
	return at, rest
}

// hear waits for a line with a text.
func hear(t *testing.T, said <-chan string, text string) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line := <-said:
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("it never said %q", text)
		}
	}
}

func TestRedisServesClientsThatFollowSentinels(t *testing.T) {
	t.Parallel()
	at, said := served(t, "--sentinel", "--master-name=stock")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, version := range []int{2, 3} {
		c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "stock", SentinelAddrs: []string{at["sentinel-1"], at["sentinel-2"]}, Protocol: version})
		defer c.Close()
		if ok, err := c.SetNX(ctx, "lock", "a", time.Minute).Result(); err != nil || !ok {
			t.Fatalf("RESP%d: the lock is not taken: %v", version, err)
		}
		if n, err := c.Do(ctx, "WAIT", 2, 5000).Int(); err != nil || n != 2 {
			t.Fatalf("RESP%d: %d replicas have it, %v", version, n, err)
		}
		sentinel := redis.NewSentinelClient(&redis.Options{Addr: at["sentinel-1"], Protocol: version})
		defer sentinel.Close()
		if err := sentinel.Failover(ctx, "stock").Err(); err != nil {
			t.Fatal(err)
		}
		hear(t, said, "promoted redis-")
		for n := int64(0); n == 0 && ctx.Err() == nil; {
			n, _ = c.Del(ctx, "lock").Result() // while the role changes there may be no master
		}
		if ctx.Err() != nil {
			t.Fatalf("RESP%d: the lock is not found after the switchover", version)
		}
	}
}

// A schedule's faults happen in real time, and are told.
func TestRedisPlaysASchedule(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "schedule.json")
	schedule := `{"format":"lockcheck-schedule/1","nemesis":"mine","episodes":[{"name":"kill","at":100000000,"steps":[
		{"on":{"f":["acquire"],"within":60000000000},"fault":{"f":"kill","targets":["redis-1"],"mode":"process"}},
		{"after":10000000,"fault":{"f":"start","targets":["redis-1"],"mode":"empty"}}]}]}`
	if err := os.WriteFile(file, []byte(schedule), 0o644); err != nil {
		t.Fatal(err)
	}
	at, said := served(t, "--schedule="+file, "--time-limit=1m")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: at["redis-1"]})
	defer c.Close()
	keep := make(chan struct{})
	go func() {
		defer close(keep)
		for ctx.Err() == nil {
			if c.SetNX(ctx, "lock", "a", time.Minute).Val(); c.Exists(ctx, "never").Err() != nil {
				return // it was killed
			}
			c.Del(ctx, "lock")
		}
	}()
	hear(t, said, "kill redis-1")
	hear(t, said, "start redis-1: redis-1 runs again")
	cancel()
	<-keep
}

func TestRedisRefusesWhatItCannotDo(t *testing.T) {
	for args, want := range map[string]string{
		"--nemesis=crash":                               "none of its faults",
		"--nemesis=failover":                            "nemesis failover",
		"--nemesis=failovr":                             "did you mean",
		"--nemesis=kill --schedule=x":                   "contradict",
		"--schedule=/nonexistent":                       "no such file",
		"--sentinel --listen=localhost:1":               "number of an address",
		"--sentinel --listen=127.0.0.1:45534":           "want a port up to 45533",
		"--listen=6379":                                 "want host:port",
		"--nemesis=kill --interval=0s":                  "must be above 0",
		"--nemesis=kill --interval=1ns --time-limit=1h": "at most",
	} {
		var said strings.Builder
		code := Program{}.execute(t.Context(), append([]string{"redis"}, strings.Fields(args)...), strings.NewReader(""), io.Discard, &said)
		if code != exitUsage || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, &said)
		}
	}
}
