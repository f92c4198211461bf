//go:build unix

package child_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
)

// begin starts a child of these tests.
func begin(t *testing.T, name string, cfg child.Config) *child.Child {
	t.Helper()
	cfg.Command = []string{os.Args[0]}
	cfg.Env = []string{behaviour + "=" + name, "GOTRACEBACK=none"}
	cfg.Hello.TTL = 5000
	c, err := child.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.End(); err != nil {
			t.Error(err)
		}
		if left := marked(t); len(left) > 0 {
			t.Errorf("left running: %v", left)
		}
	})
	return c
}

// marked are the processes that children of this test program have started.
func marked(t *testing.T) (pids []string) {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), child.Mark+"=") && strings.Contains(string(text), behaviour+"=") {
			pids = append(pids, name)
		}
	}
	return pids
}

func TestAChildIsAskedAndAnswers(t *testing.T) {
	c := begin(t, "honest", child.Config{})
	r, err := c.Await(t.Context())
	if err != nil || r.Name != "test 1" || !r.Has(protocol.CanExtend) || r.TTL != 5*time.Second {
		t.Fatalf("ready: %+v, %v", r, err)
	}
	a := c.Ask(t.Context(), protocol.Request{Do: protocol.Acquire, Key: "k"})
	if a.Outcome != protocol.OK || a.Token != "t1" || a.Read <= a.Asked || a.Until != a.Asked+4*time.Second {
		t.Errorf("acquire: %+v", a)
	}
	if a = c.Ask(t.Context(), protocol.Request{Do: protocol.Extend, Key: "k", Token: "t1"}); a.Outcome != protocol.Gone {
		t.Errorf("extend: %+v", a)
	}
	if err := c.End(); err != nil {
		t.Error(err)
	}
	if f := c.Findings(); len(f) > 0 {
		t.Errorf("found: %v", f)
	}
	if a = c.Ask(t.Context(), protocol.Request{Do: protocol.Release, Key: "k"}); a.Outcome != protocol.Refused {
		t.Errorf("after its end: %+v", a)
	}
}

// hostile says of each hostile child how it is found out.
var hostile = []struct {
	name string
	kind protocol.Kind
	says string // part of the finding

	answer, ready time.Duration // limits
}{
	{name: "endless line", kind: protocol.LongLine, says: `"aaaaaaaa`},
	{name: "a hundred megabytes", kind: protocol.LongLine, says: `{\"id\":1,\"ok\":true,\"token\":\"bbbbbb`},
	{name: "closes stdin", kind: protocol.Deaf, says: "broken pipe"},
	{name: "daemonises", kind: protocol.Ended, says: "ended before it said that it is ready: exit status 0"},
	{name: "ignores SIGTERM", kind: protocol.WouldNotEnd, says: "nor within"},
	{name: "answers twice", kind: protocol.SecondAnswer, says: `answers request 1 a second time: "{\"id\":1`},
	{name: "answers the future", kind: protocol.FutureAnswer, says: `answers request 2, which has not been sent: "{\"id\":2`, answer: time.Second},
	{name: "lies about valid_ms", kind: protocol.BadValidity, says: `valid_ms\":999999999`},
	{name: "prints prose", kind: protocol.Prose, says: "PHP Warning:  Undefined variable", answer: time.Second},
	{name: "dies at once", kind: protocol.Ended, says: `exit status 3, and its log ends with "cannot find the class Redis"`},
	{name: "never ready", kind: protocol.NeverReady, says: "did not say that it is ready", ready: 300 * time.Millisecond},
	{name: "spins", kind: protocol.NoAnswer, says: "did not answer acquire 1 (k)", answer: time.Second},
}

func TestTwelveHostileChildren(t *testing.T) {
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			limits := protocol.Limits{Answer: tt.answer, Ready: tt.ready}
			c := begin(t, tt.name, child.Config{Limits: limits, Grace: child.Grace{Stdin: 50 * time.Millisecond, Term: 100 * time.Millisecond}})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := c.Await(ctx); err == nil {
				c.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: "k"})
				c.Ask(ctx, protocol.Request{Do: protocol.Release, Key: "k"})
			}
			if err := c.End(); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v to end it", took)
			}
			all := c.Findings()
			if !slices.ContainsFunc(all, func(f protocol.Finding) bool { return f.Kind == tt.kind && strings.Contains(f.String(), tt.says) }) {
				t.Errorf("findings are %q, want %s with %q", all, tt.kind, tt.says)
			}
		})
	}
}

// A child that ends well, but has left something running, is told so.
func TestWhatAChildLeavesBehindIsEndedAndNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environment of other processes")
	}
	c := begin(t, "leaves a daemon", child.Config{})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(marked(t)) < 2 {
		t.Fatal("the daemon does not run")
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	f := c.Findings()
	if len(f) != 1 || f[0].Kind != protocol.LeftBehind || !strings.Contains(f[0].Problem, "sleep 1000") {
		t.Errorf("findings are %v", f)
	}
}

func TestAPausedChildIsNotLate(t *testing.T) {
	c := begin(t, "honest", child.Config{Limits: protocol.Limits{Answer: 300 * time.Millisecond}})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan protocol.Answer)
	go func() { answer <- c.Ask(t.Context(), protocol.Request{Do: protocol.Acquire, Key: "k"}) }()
	select {
	case a := <-answer:
		t.Errorf("a paused child answers %+v", a)
	case <-time.After(600 * time.Millisecond): // twice what it may take
	}
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	if a := <-answer; a.Outcome != protocol.OK {
		t.Errorf("after the pause: %+v", a)
	}
}

func TestAKilledChildAnswersUnknown(t *testing.T) {
	c := begin(t, "spins", child.Config{})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer := make(chan protocol.Answer)
	go func() { answer <- c.Ask(t.Context(), protocol.Request{Do: protocol.Acquire, Key: "k"}) }()
	for len(c.Lines()) < 3 { // the request has been sent
		runtime.Gosched()
	}
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if a := <-answer; a.Outcome != protocol.Unknown {
		t.Errorf("killed while it was asked: %+v", a)
	}
	if f := c.Findings(); len(f) > 0 {
		t.Errorf("found: %v", f)
	}
}

func TestAStepWaitsForTheGo(t *testing.T) {
	var at string
	c := begin(t, "steps", child.Config{Step: func(_ context.Context, s protocol.Step) { at = s.Step }})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := c.Ask(t.Context(), protocol.Request{Do: protocol.Acquire, Key: "k"}); a.Outcome != protocol.OK || at != "before-acquire" {
		t.Errorf("%+v, waited at %q", a, at)
	}
	if err := c.End(); err != nil {
		t.Error(err)
	}
	if log := c.Log(); !strings.Contains(log, `told: {"go":"before-acquire","id":1}`) {
		t.Errorf("its log is %q", log)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	if _, err := child.Start(child.Config{Command: []string{"/nonexistent/lock"}}); err == nil || !strings.Contains(err.Error(), "/nonexistent/lock") {
		t.Errorf("error is %v", err)
	}
}

// A child in the group of its caller ends without it.
func TestAJoinedChildEndsAlone(t *testing.T) {
	c := begin(t, "leaves a daemon", child.Config{Joined: true})
	if _, err := c.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	group, err := syscall.Getpgid(c.PID())
	if err != nil || group != syscall.Getpgrp() {
		t.Errorf("its group is %d, %v, ours %d", group, err, syscall.Getpgrp())
	}
	if err := c.Kill(); err != nil { // and nothing of its caller
		t.Fatal(err)
	}
}
