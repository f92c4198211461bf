//go:build unix

package docker

import (
	"context"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/process"
)

// Driver is how this package is registered: see package cluster/servers.
var Driver = cluster.Driver{
	Traits:  traits,
	Summary: "real servers in containers, in real time",
	Images:  true,
	New: func(ctx context.Context, c cluster.Config) (cluster.Provider, error) {
		return New(ctx, Config{Image: c.Image, Tell: c.Tell})
	},
	Clean: Clean,
	Work:  process.Main,
}

var traits = cluster.Traits{Name: "docker"}

// Traits implements cluster.Provider.
func (p *Provider) Traits() cluster.Traits { return traits }
