//go:build linux

package sim

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/env"
)

// inReal runs a Perl program beside one worker, in real time; the worker works,
// while the director acts.
func inReal(t *testing.T, program string, work func(ctx context.Context, e *env.Env), act func(ctx context.Context, c cluster.Cluster)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.pl")
	if err := os.WriteFile(path, []byte(perl+program+"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Paced: true}).Cell(t.Context(), cluster.Options{
		Topology: env.Topology{Lock: env.Single}, Seed: 1, Workers: 1,
		Own:     &cluster.Own{Command: []string{"perl", path}, Hello: protocol.Hello{TTL: 5000}},
		Program: func(ctx context.Context, _ []byte, e *env.Env, _ env.Wire) error { work(ctx, e); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), func(ctx context.Context) error {
		if err := c.StartWorkers(ctx); err != nil {
			return err
		}
		act(ctx, c)
		_, err := c.AwaitWorkers(ctx, 30*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range c.(*system).Findings() {
		t.Error(finding)
	}
}

const setNX = `my $s = dial($hello->{redis}[0]); say(ask($s, "SET k v NX"));`

func TestAProgramInRealTimeReachesTheServers(t *testing.T) {
	var got protocol.Answer
	inReal(t, setNX, func(ctx context.Context, e *env.Env) {
		got = e.Own.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: "k"})
	}, func(ctx context.Context, c cluster.Cluster) {})
	if got.Outcome != protocol.OK || got.Token != "+OK" || got.Read < got.Asked {
		t.Errorf("the answer is %+v", got)
	}
}

// While its worker is paused, so is the program, and what it is asked for later
// counts from then.
func TestAProgramInRealTimeIsPausedAndKilled(t *testing.T) {
	var answered time.Duration
	var resumed time.Duration
	lives := 0
	inReal(t, setNX, func(ctx context.Context, e *env.Env) {
		lives++
		if e.Life == 0 {
			e.Own.Ask(ctx, protocol.Request{Do: protocol.Acquire, Key: "k"})
			answered = e.Clock.Now()
			_ = e.Clock.Sleep(ctx, time.Minute) // it is killed
		}
	}, func(ctx context.Context, c cluster.Cluster) {
		for _, f := range []string{histories.Pause, histories.Resume, histories.Kill, histories.Start} {
			if f == histories.Resume {
				_ = c.Sleep(ctx, 300*time.Millisecond)
				resumed = c.Now()
			}
			if f == histories.Kill && !c.Await(ctx, 20*time.Second, func() bool { return answered > 0 }) {
				t.Error("the program never answered after its pause")
			}
			if effect, err := c.Inject(ctx, histories.Fault{F: f, Targets: []string{"worker-0"}}); err != nil || effect.Proof == "" {
				t.Errorf("%s: %v, %v", f, effect, err)
			}
		}
	})
	if answered < resumed || lives != 2 {
		t.Errorf("answered at %v, resumed at %v, %d lives", answered, resumed, lives)
	}
}

func TestTheClockOfAProgramInRealTimeStays(t *testing.T) {
	inReal(t, setNX, func(context.Context, *env.Env) {}, func(ctx context.Context, c cluster.Cluster) {
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"worker-0"}, Offset: time.Second}); err == nil {
			t.Error("it was moved")
		}
		if _, err := c.Inject(ctx, histories.Fault{F: histories.Skew, Targets: []string{"redis-1"}, Offset: time.Second}); err != nil {
			t.Errorf("the server's: %v", err)
		}
	})
}
