//go:build unix

package docker

import (
	"testing"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/clustertest"
)

// Faults mean here what they mean on every cluster.
func TestFaultsMeanWhatTheyMeanEverywhere(t *testing.T) {
	p := needEngine(t)
	clustertest.Play(t, func(t *testing.T, o cluster.Options) cluster.Cluster {
		c, err := p.Cell(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	})
}
