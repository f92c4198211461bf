package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var queued = cluster.Options{Topology: env.Topology{Queue: true}, Workers: 2}

// consumers take messages until the run ends; worker 0 takes one and never
// comes to acknowledge it.
var consumers = runs(func(ctx context.Context, e *env.Env, w env.Wire) {
	for w.Phase() == env.Running {
		body, ack, ok, err := e.Queue.Consume(ctx, 100*time.Millisecond)
		if err != nil || !ok {
			e.Clock.Sleep(ctx, 10*time.Millisecond)
			continue
		}
		if e.Worker == 0 {
			note(e, w, body+" taken")
			e.Clock.Sleep(ctx, time.Hour)
			return
		}
		note(e, w, body+" "+outcome("ok", ack(ctx)))
	}
})

func TestQueueDeliversAtLeastOnce(t *testing.T) {
	tests := []struct {
		name  string
		fault histories.Fault
		wait  time.Duration
		want  []string // what worker 1 acknowledged: everything, in the end
	}{
		{"the broker takes back what a dead consumer had", histories.Fault{F: histories.Kill, Targets: []string{"worker-0"}}, time.Second, []string{"1 a ok", "1 b ok", "1 c ok", "1 d ok"}},
		{"what a frozen consumer had is taken back when it shows no sign of life", histories.Fault{F: histories.Pause, Targets: []string{"worker-0"}}, 40 * time.Second, []string{"1 a ok", "1 b ok", "1 c ok", "1 d ok"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{}, seeded(queued, 3, consumers))
			r.direct(func(ctx context.Context) {
				r.start(ctx)
				r.sleep(ctx, 50*time.Millisecond)
				for _, body := range []string{"a", "b", "c", "d"} {
					if err := r.Env().Queue.Publish(ctx, body); err != nil {
						t.Error(err)
					}
				}
				r.sleep(ctx, 100*time.Millisecond)
				if !slices.ContainsFunc(r.notes(), func(n string) bool { return n[0] == '0' }) {
					t.Error("worker 0 got nothing")
				}
				r.inject(ctx, tt.fault)
				r.sleep(ctx, tt.wait)
			})
			got := slices.Sorted(slices.Values(r.notes()))
			got = slices.DeleteFunc(got, func(n string) bool { return n[0] == '0' })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQueueSurvivesTheBroker(t *testing.T) {
	r := newRig(t, Config{}, seeded(queued, 1, consumers))
	r.direct(func(ctx context.Context) {
		q := r.Env().Queue
		for i := range 3 {
			if err := q.Publish(ctx, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		}
		body, ack, ok, err := q.Consume(ctx, time.Second)
		if body != "0" || !ok || err != nil {
			t.Errorf("got %q, %v, %v", body, ok, err)
		}
		r.inject(ctx, histories.Fault{F: histories.Kill, Targets: []string{"queue"}, Mode: "process"})
		if err := q.Publish(ctx, "4"); outcome("ok", err) != "refused" {
			t.Errorf("a dead broker took a message: %v", err)
		}
		r.inject(ctx, histories.Fault{F: histories.Start, Targets: []string{"queue"}})
		if err := ack(ctx); outcome("ok", err) != "reset" {
			t.Errorf("acknowledged a delivery of before: %v", err)
		}
		for i := range 3 {
			for range 2 { // the first time it is not confirmed, and goes back
				if body, ack, ok, err = q.Consume(ctx, time.Second); body != fmt.Sprint(i) || !ok || err != nil {
					t.Errorf("message %d: %q, %v, %v", i, body, ok, err)
				}
			}
			if err := ack(ctx); err != nil {
				t.Error(err)
			}
		}
		asked := r.Now()
		if _, _, ok, err := q.Consume(ctx, time.Second); ok || err != nil || r.Now()-asked > 1010*time.Millisecond {
			t.Errorf("an empty queue: %v, %v after %v", ok, err, r.Now()-asked)
		}
	})
}
