package sim

import (
	"context"

	"github.com/lockcheck/lockcheck/cluster"
)

// Driver is the simulation as the command line knows it.
var Driver = cluster.Driver{
	Traits:  traits,
	Summary: "simulated, in virtual time",
	New:     func(context.Context, cluster.Config) (cluster.Provider, error) { return New(Config{}), nil },
}

var traits = cluster.Traits{Name: "sim", Virtual: true, Parallel: true}

// Traits implements cluster.Provider.
func (p *Provider) Traits() cluster.Traits { return traits }
