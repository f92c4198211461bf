package sim

import (
	"context"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

func TestWhenTCPSendsAgain(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name            string
		sent, now, want time.Duration
	}{
		{"healed before the first time-out", 1000 * ms, 1100 * ms, 1200 * ms},
		{"after two", 0, 500 * ms, 600 * ms},
		{"each twice as long as the one before", 0, 2000 * ms, 3000 * ms},
		{"healed in the moment of sending", 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := vtime.NextTry(tt.sent, tt.now); got != tt.want {
				t.Errorf("at %v", got)
			}
		})
	}
}

// Packets that are lost between servers are sent again; the stream keeps its
// order, and nothing of it is missing.
func TestReplicationSurvivesLoss(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		r.inject(ctx, histories.Fault{F: histories.Loss, From: []string{"master"}, To: []string{"replicas"}, Rate: 0.3})
		for range 200 {
			r.must(ctx, r.Env().Lock[0], "INCR", "n")
		}
		r.sleep(ctx, 20*time.Millisecond)
		if got := r.site.byName["redis-2"].repl.offset; got >= 200 {
			t.Error("loss slowed nothing down")
		}
		r.inject(ctx, histories.Fault{F: histories.Heal})
		r.sleep(ctx, 10*time.Second)
		for _, name := range []string{"redis-2", "redis-3"} {
			if got := r.must(ctx, r.at(name), "GET", "n"); got != "200" {
				t.Errorf("%s has %v", name, got)
			}
		}
	})
}

func TestServersDialAgainNotMoreThanOnceASecond(t *testing.T) {
	r := newRig(t, Config{}, replicated)
	r.direct(func(ctx context.Context) {
		to := r.site.redis[1]
		to.kill("process")
		l := newCaller(r.net, r.system.director, to.box)
		tries := map[time.Duration]bool{}
		for range 25 {
			l.ensure()
			tries[l.tried] = true
			r.sleep(ctx, 100*time.Millisecond)
		}
		if len(tries) != 3 {
			t.Errorf("%d tries in 2.5 s", len(tries))
		}
	})
}
