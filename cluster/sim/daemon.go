package sim

import "github.com/lockcheck/lockcheck/cluster/sim/vtime"

import "github.com/lockcheck/lockcheck/histories"

// daemon is a server's program on a machine of its own: what all kinds of
// server have in common.
type daemon struct {
	s    *vtime.Scheduler
	net  *vtime.Network
	box  *vtime.Machine
	name string
	proc *vtime.Process // of now, or the last one
}

// newDaemon puts a machine into the network. Nothing runs on it yet.
func (c *system) newDaemon(name string) daemon {
	return daemon{s: c.s, net: c.net, box: c.net.Add(name), name: name}
}

func (d *daemon) machine() *vtime.Machine { return d.box }
func (d *daemon) process() *vtime.Process { return d.proc }
func (d *daemon) label() string           { return d.name }
func (d *daemon) alive() bool             { return !d.proc.Dead }

// rise starts the program, and the machine if it is down.
func (d *daemon) rise(serve vtime.Service) {
	if !d.box.Up {
		d.box.Up = true
		d.box.Boots++
	}
	d.proc = &vtime.Process{Scheduler: d.s, Host: d.box, Name: d.name, Serve: serve}
	d.box.Process = d.proc
}

// fall ends the program. By "process" its machine lives on and resets the
// connections; otherwise the machine goes with it and there is silence.
func (d *daemon) fall(mode string) (byProcess bool) {
	byProcess = mode == histories.ModeProcess
	d.box.Up = byProcess
	d.net.Exit(d.proc, byProcess)
	return byProcess
}
