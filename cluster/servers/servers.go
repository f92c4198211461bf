//go:build unix && !sim

package servers

import (
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/docker"
)

func init() { cluster.Register(docker.Driver) }
