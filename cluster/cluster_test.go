package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPart(t *testing.T) {
	all := []string{"a", "b", "c"}
	for role, want := range map[string][]string{
		"replicas":        {"a", "b", "c"},
		"one-replica":     {"a"},
		"other-replicas":  {"b", "c"},
		"one-sentinel":    {"a"},
		"other-sentinels": {"b", "c"},
		"workers":         {"a", "b", "c"},
		"half-workers":    {"a", "b"},
		"other-workers":   {"c"},
	} {
		if diff := cmp.Diff(want, Part(role, all)); diff != "" {
			t.Errorf("%s:\n%s", role, diff)
		}
	}
	if part := Part("one-replica", all[:0]); len(part) != 0 {
		t.Error(part)
	}
}
