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

// RealTime is the simulation in the time of the machine, for programs of the
// user's that cannot be held in virtual time. Its name is Driver's.
var RealTime = cluster.Driver{
	Traits:  realTraits,
	Summary: "simulated, in real time",
	New:     func(context.Context, cluster.Config) (cluster.Provider, error) { return New(Config{Paced: true}), nil },
}

var realTraits = cluster.Traits{Name: traits.Name}

var traits = cluster.Traits{Name: "sim", Virtual: true, Parallel: true}

// Traits implements cluster.Provider.
func (p *Provider) Traits() cluster.Traits {
	if p.config.Paced {
		return realTraits
	}
	return traits
}
