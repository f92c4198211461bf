package command

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/workload"
)

// Claims are made about the nemeses that there are.
func TestClaimsKnowEveryNemesis(t *testing.T) {
	if diff := cmp.Diff(nemesis.Names(), workload.Nemeses); diff != "" {
		t.Errorf("workload.Nemeses is not the catalogue's list (-catalogue +claims):\n%s", diff)
	}
}
