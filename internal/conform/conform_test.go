//go:build unix

package conform

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload/locktest"
)

func look(t *testing.T, mode string) (*Subject, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return Look(ctx, Config{
		Command: []string{os.Args[0]}, Env: []string{adapterMode + "=" + mode},
		TTL: 1500 * time.Millisecond, Away: 3 * time.Second, Parallel: 6,
	})
}

// breaks says which rules each adapter breaks.
var breaks = map[string][]string{
	"right":               nil,
	"watchdog":            nil,
	"del":                 {"only the owner releases"},
	"get, then del":       {"a release that takes long deletes no other's lock"},
	"setnx, then expire":  {"a worker that dies while acquiring leaves nothing forever"},
	"forgets the ttl":     {"a lease ends by itself"},
	"takes what is taken": {"one holder at a time", "re-entry as declared"},
	"hopes":               {"no grant while the server is away"},
	"no prefix":           {"one holder at a time"},

	"watchdog that revives": {"a late renewal in the background does not revive the lease", "a loss is told"},
	"watchdog that goes on": {"no renewal after the release"},
}

func TestWhichRuleALockBreaksIsSaid(t *testing.T) {
	for mode, want := range breaks {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, err := look(t, mode)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) > 0 { // and no others, to save time
				s.cases = slices.DeleteFunc(s.cases, func(c locktest.Case) bool { return !slices.Contains(want, c.Name) })
			}
			var kept, broken []string
			n, err := s.Test(t.Context(), func(r Result) {
				if r.Err == nil {
					kept = append(kept, r.Rule)
					return
				}
				broken = append(broken, r.Rule)
				t.Logf("%s: %v", r.Rule, r.Err)
				if len(r.Lines) == 0 {
					t.Errorf("%s: no lines are shown", r.Rule)
				}
			})
			if err != nil || n != len(broken) {
				t.Errorf("%d broken, error %v", n, err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(broken))); diff != "" {
				t.Errorf("broken rules (-want +got):\n%s", diff)
			}
			all := slices.Sorted(slices.Values(append(kept, broken...)))
			if diff := cmp.Diff(slices.Sorted(slices.Values(s.Rules())), all); diff != "" {
				t.Errorf("not every rule was tested once:\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeTestedIsSaid(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"a program that is not there": {[]string{"/nonexistent/lock"}, "no such file"},
		"one that ends":               {[]string{"sh", "-c", "echo no class Redis >&2; exit 3"}, "exit status 3"},
		"one that says nothing":       {[]string{"sleep", "1000"}, "did not say that it is ready"},
		"one that talks":              {[]string{"sh", "-c", `read hello; echo welcome; echo '{"ready":"x"}'; read r`}, "welcome"},
		"a shop without a lock":       {[]string{"sh", "-c", `read hello; echo '{"ready":"shop","can":["sell"]}'; read r`}, "no lock to test"},
	} {
		_, err := Look(ctx, Config{Command: c.command, Limits: protocol.Limits{Ready: time.Second}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
