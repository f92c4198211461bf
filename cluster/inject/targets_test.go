package inject

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
)

func TestShare(t *testing.T) {
	all := []string{"a", "b", "c"}
	for role, want := range map[string][]string{
		histories.RoleReplicas:       {"a", "b", "c"},
		histories.RoleOneReplica:     {"a"},
		histories.RoleOtherReplicas:  {"b", "c"},
		histories.RoleOneSentinel:    {"a"},
		histories.RoleOtherSentinels: {"b", "c"},
		histories.RoleWorkers:        {"a", "b", "c"},
		histories.RoleHalfWorkers:    {"a", "b"},
		histories.RoleOtherWorkers:   {"c"},
	} {
		if diff := cmp.Diff(want, share(histories.RoleOf(role), all)); diff != "" {
			t.Errorf("%s:\n%s", role, diff)
		}
	}
	if part := share(histories.RoleOf(histories.RoleOneReplica), all[:0]); len(part) != 0 {
		t.Error(part)
	}
}

// Every kind of fault has somebody who does it, and nobody does what is no kind.
func TestEveryKindIsDone(t *testing.T) {
	kinds := map[string]bool{}
	for _, k := range histories.Kinds {
		if kinds[k.Name] = true; doers[k.Name] == nil {
			t.Errorf("nobody does %s", k.Name)
		}
	}
	for name := range doers {
		if !kinds[name] {
			t.Errorf("%s is no kind of fault", name)
		}
	}
}
