package turnstile

import (
	"time"

	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
)

// Design is Turnstile at work in a shop that sells under it: read the stock,
// check, DECRBY (stock.Locked, the default).
var Design = workload.Design{
	Name: "turnstile", Summary: "INCR: the worker that counts to one is in, the others step back by DECR", Origin: "an afternoon",
	Topology: env.Topology{Lock: env.Single}, Defaults: workload.Spec{TTL: 3 * time.Second, TimeLimit: 15 * time.Second},
	Lock: New,
}

// MendedDesign is Mended in the same shop. It claims what a lease lock on one
// server can: a worker that dies in the middle of a sale leaves units without an
// order, whatever its lock.
var MendedDesign = workload.Design{
	Name: "turnstile-mended", Summary: "SET NX PX with a token, compare-and-delete", Origin: "the next morning",
	Topology: env.Topology{Lock: env.Single}, Defaults: workload.Spec{TTL: 3 * time.Second, TimeLimit: 15 * time.Second},
	Lock: NewMended,
	Claims: map[string]workload.Claim{
		"none":  {Lock: workload.Holds, Use: workload.Holds, Business: workload.Holds},
		"crash": {Lock: workload.Holds, Use: workload.Holds},
	},
}
