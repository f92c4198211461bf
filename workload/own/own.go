// Package own makes a design of a program that somebody wrote in his own
// language, and that speaks the protocol (package protocol).
//
// If the program has only a lock, the worker sells, as it does with the locks
// of the catalogue. If it sells, the worker asks it for whole sales, and
// records what the program announces of its holds and writes; a program that
// announces nothing is judged by what the shop gained and lost.
//
// What runs the program is not known here: env.Env.Own answers.
package own

import (
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// Design is the design of a program by what it says of itself. name is its name
// in reports, command how it is started, topology what it is to run on.
func Design(name string, command []string, topology env.Topology, r protocol.Ready) workload.Design {
	d := workload.Design{
		Name: name, Summary: "a program of your own: " + r.Name, Origin: "--exec",
		Topology: topology, Own: command,
		Lock: NewLock, Sale: stock.Locked,
		Defaults: workload.Spec{TTL: r.TTL},
		LockSpec: histories.LockSpec{
			Reentrant: r.Has(protocol.CanReentrant), Deadline: r.Has(protocol.CanDeadline),
			Notice: r.Has(protocol.CanLost), Fenced: r.Has(protocol.CanFence),
		},
		Renews: r.Has(protocol.CanRenews), NoLease: r.TTL == 0,
	}
	if r.Has(protocol.CanSell) {
		d.Sale, d.Marks = Sell, []string{}
		if !r.Has(protocol.CanAnnounce) {
			d.Lock = nil
		}
	}
	return d
}
