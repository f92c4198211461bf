package sim

import "github.com/lockcheck/lockcheck/histories"

// daemon is a server's program on a machine of its own: what all kinds of
// server have in common.
type daemon struct {
	s    *scheduler
	net  *network
	host *host
	name string
	proc *process // of now, or the last one
}

// newDaemon puts a machine into the network. Nothing runs on it yet.
func (c *simulation) newDaemon(name string) daemon {
	return daemon{s: c.s, net: c.net, host: c.net.add(name), name: name}
}

func (d *daemon) machine() *host    { return d.host }
func (d *daemon) process() *process { return d.proc }
func (d *daemon) label() string     { return d.name }
func (d *daemon) alive() bool       { return !d.proc.dead }

// rise starts the program, and the machine if it is down.
func (d *daemon) rise(serve service) {
	if !d.host.up {
		d.host.up = true
		d.host.boots++
	}
	d.proc = &process{s: d.s, host: d.host, name: d.name, serve: serve}
	d.host.proc = d.proc
}

// fall ends the program. By "process" its machine lives on and resets the
// connections; otherwise the machine goes with it and there is silence.
func (d *daemon) fall(mode string) (byProcess bool) {
	byProcess = mode == histories.ModeProcess
	d.host.up = byProcess
	d.net.exit(d.proc, byProcess)
	return byProcess
}
