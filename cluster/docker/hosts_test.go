//go:build unix

package docker

import (
	"errors"
	"os"
	"testing"

	"github.com/lockcheck/lockcheck/cluster/process"
)

func TestAWorkerThatIsDyingNeedNotObey(t *testing.T) {
	for _, c := range []struct {
		name          string
		killed, hears bool
		ends          bool
		ok            bool
	}{
		{name: "killed, and its pipe is broken", killed: true, ok: true},
		{name: "killed, and it still hears", killed: true, hears: true, ok: true},
		{name: "it ends before it answers", hears: true, ends: true, ok: true},
		{name: "its pipe is broken, and nobody killed it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			defer out.Close()
			if !c.hears {
				out.Close()
			}
			h := &host{name: "worker-0", proc: &os.Process{}, stdin: in, killed: c.killed, ended: make(chan struct{}), acks: map[int64]chan process.Note{}}
			if c.ends {
				go func() {
					_, _ = out.Read(make([]byte, 1)) // it has been told
					close(h.ended)
				}()
			}
			_, err = new(system).change(t.Context(), h, func(*process.Control) {})
			if (err == nil) != c.ok || errors.Is(err, errNoAnswer) {
				t.Errorf("answered %v", err)
			}
		})
	}
}

func TestALossNeedNotHitEverybody(t *testing.T) {
	for _, c := range []struct {
		rate         float64
		drops, heard []string
		want         string
	}{
		{1, []string{"a", senderOnly}, []string{"b"}, "a; b"},
		{1, []string{"a"}, []string{""}, ""},
		{0.1, []string{"", senderOnly}, []string{"b", ""}, "b"},
		{0.1, []string{""}, []string{""}, ""},
	} {
		if got := (&cutting{loss: c.rate < 1, rate: c.rate}).proof(c.drops, c.heard); got != c.want {
			t.Errorf("rate %v, %q and %q: %q, want %q", c.rate, c.drops, c.heard, got, c.want)
		}
	}
}
