package sim

import (
	"cmp"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/protocol"
)

// wire is a connection of a program that is no part of the simulation, byte for
// byte, over the simulated network.
type wire struct {
	c      *system
	conn   *vtime.Conn
	far    far
	names  naming
	worker *worker // whose program it is; nil: a client from outside
	up     bool
}

// far is the program's end of a wire. Its methods are called as events.
type far interface {
	connected()
	failed(why preload.Failure)
	deliver(data []byte)
	hangup() // by the server
}

// naming is the address of a server as a program knows it.
type naming func(server string) (ip, port string)

// synLimit is when a kernel gives up an attempt to connect that nobody answers.
const synLimit = 127 * time.Second

// dial makes the connection with a machine that x's program has asked for.
func (x *wire) dial(from *vtime.Process, to *vtime.Machine) {
	over := false
	fail := func(why preload.Failure) {
		if !over {
			over = true
			x.far.failed(why)
		}
	}
	x.conn = x.c.net.Dial(from, to, func(_ *vtime.Conn, err error) {
		if err != nil {
			fail(preload.Refused)
			return
		}
		x.up, over = true, true
		x.conn.End[0].OnBreak = x.far.hangup
		x.far.connected()
	})
	x.conn.Bytes = x.far.deliver
	x.c.s.After(synLimit, from, func() {
		if !x.up && x.conn.End[0].Open {
			x.conn.Close(0)
			fail(preload.TimedOut)
		}
	})
}

// send carries bytes of the program to the server.
func (x *wire) send(data []byte) {
	if x.up && len(data) > 0 {
		x.conn.Send(1, func() { x.c.serveBytes(x, data) })
	}
}

// heldEnd is a connection of a program that is held in virtual time.
type heldEnd struct {
	o *own
	n int
}

var _ far = heldEnd{}

// dial makes the connection that the program has asked for.
func (o *own) dial(d preload.Dial) {
	at := heldEnd{o, d.Slot}
	to := o.c.machineAt(d.Address)
	if to == nil { // no such machine
		o.c.s.After(vtime.BaseLatency, o.proc, func() { at.failed(preload.Refused) })
		return
	}
	x := &wire{c: o.c, far: at, names: o.c.named, worker: o.w}
	o.wires[d.Slot] = x
	x.dial(o.proc, to)
}

func (t heldEnd) connected() {
	t.o.program.Connect(t.n)
	t.o.wake()
}

func (t heldEnd) failed(why preload.Failure) {
	delete(t.o.wires, t.n)
	if !t.o.ended {
		t.o.program.Fail(t.n, why)
		t.o.wake()
	}
}

// sent carries what the program has written, and its goodbye.
func (o *own) sent(s preload.Sent) {
	x := o.wires[s.Slot]
	if x == nil {
		return
	}
	x.send(s.Bytes)
	if s.Closed {
		delete(o.wires, s.Slot)
		x.conn.Close(0)
	}
}

func (t heldEnd) deliver(data []byte) {
	if !t.o.ended {
		t.o.program.Deliver(t.n, data)
		t.o.wake()
	}
}

func (t heldEnd) hangup() {
	delete(t.o.wires, t.n)
	if !t.o.ended {
		t.o.program.Hangup(t.n)
		t.o.wake()
	}
}

// serveBytes is what a server does with bytes of a program.
func (c *system) serveBytes(x *wire, data []byte) {
	s := x.conn.Session
	if knownOf(s).front == nil {
		knownOf(s).front = c.front(x)
	}
	if knownOf(s).front == nil { // it speaks no RESP
		x.conn.Close(1)
		return
	}
	knownOf(s).front.Receive(data)
	if knownOf(s).front.Closed() {
		x.conn.End[1].Process.Serve.Hangup(s)
		x.conn.Close(1)
	}
}

// front begins a server's side of the wire protocol.
func (c *system) front(x *wire) *resp.Session {
	c.fronts++
	send := func(b []byte) {
		if x.conn.End[1].Open {
			x.conn.Send(0, func() { x.conn.Bytes(b) })
		}
	}
	switch s := x.conn.End[1].Process.Serve.(type) {
	case *node:
		return resp.NewSession(c.fronts, &nodeFront{x, s}, send)
	case *sentinel:
		return resp.NewSession(c.fronts, &sentinelFront{x, s}, send)
	}
	return nil
}

// nodeFront is a Redis server behind the wire protocol.
type nodeFront struct {
	x *wire
	n *node
}

var _ resp.Backend = (*nodeFront)(nil)

// among are commands that only servers send each other.
var among = map[string]bool{"PSYNC": true, strings.ToUpper(reportCommand): true}

// Do implements resp.Backend.
func (f *nodeFront) Do(args []string, reply func(any)) {
	if among[strings.ToUpper(args[0])] {
		reply(redis.Error("ERR unknown command '" + args[0] + "', with args beginning with: "))
		return
	}
	x := f.x
	f.n.Serve(x.conn.Session, args, func(r any) {
		if x.worker != nil && x.worker.loses(nil, args, r) {
			x.conn.Deaf[0] = true
		}
		if x.c.hears != nil {
			x.c.hears(x, args, r)
		}
		reply(x.publicly(strings.ToUpper(args[0]), r))
	})
}

// Listen implements resp.Backend.
func (f *nodeFront) Listen(channel string, on bool) { f.n.listen(f.x.conn.Session, channel, on) }

// Identity implements resp.Backend.
func (f *nodeFront) Identity() (version, mode, role string) {
	mode, role = "standalone", "master"
	if f.n.member != nil {
		mode = "cluster"
	}
	if f.n.master != nil {
		role = "replica"
	}
	return "7.0.15", mode, role
}

// The addresses of the simulated servers, as programs see them.
const (
	redisPort    = "6379"
	sentinelPort = "26379"
)

// named is the address of a server on the simulated network.
func (c *system) named(name string) (ip, port string) {
	for i, s := range c.site.servers {
		if s.label() == name {
			if _, is := s.(*sentinel); is {
				return fmt.Sprintf("10.8.0.%d", i+1), sentinelPort
			}
			return fmt.Sprintf("10.8.0.%d", i+1), redisPort
		}
	}
	return "", ""
}

// machineAt is the machine at an address, if something there listens or could.
func (c *system) machineAt(address string) *vtime.Machine {
	for _, s := range c.site.servers {
		if net.JoinHostPort(c.named(s.label())) == address {
			return s.machine()
		}
	}
	return nil
}

// masterName is what Sentinels call the master that they watch.
func (c *system) masterName() string { return cmp.Or(c.config.MasterName, "lockcheck") }

// introduce tells a program what servers there are.
func (c *system) introduce(h *protocol.Hello, names naming) {
	at := func(server string) string { return net.JoinHostPort(names(server)) }
	for _, n := range c.site.redis {
		switch {
		case n.member != nil:
			h.Cluster = append(h.Cluster, at(n.name))
		case len(c.site.sentinels) == 0:
			h.Redis = append(h.Redis, at(n.name))
		}
	}
	for _, x := range c.site.sentinels {
		h.Sentinels = append(h.Sentinels, at(x.name))
		h.Master = c.masterName()
	}
	if c.site.stock != nil {
		h.Stock = at(c.site.stock.name)
	}
}

// publicly is a reply with the addresses of servers in the place of their
// names, which no program could resolve.
func (x *wire) publicly(command string, reply any) any {
	switch r := reply.(type) {
	case redis.Error:
		if strings.HasPrefix(string(r), "MOVED ") || strings.HasPrefix(string(r), "ASK ") {
			return redis.Error(x.renamed(string(r)))
		}
	case string:
		if command == "INFO" {
			return x.renamed(r)
		}
	case []any:
		if command == "ROLE" || command == "CLUSTER" {
			return x.addressed(command, r)
		}
	}
	return reply
}

// addressed is a list with addresses in the place of names. A port stands behind
// its name.
func (x *wire) addressed(command string, list []any) []any {
	out := make([]any, len(list))
	for i, item := range list {
		if out[i] == nil {
			out[i] = x.publicly(command, item)
		}
		name, _ := item.(string)
		if x.c.site.byName[name] == nil || i+1 == len(list) {
			continue
		}
		ip, port := x.names(name)
		out[i], out[i+1] = ip, port
		if _, isNumber := list[i+1].(int64); isNumber {
			n, _ := strconv.ParseInt(port, 10, 64)
			out[i+1] = n
		}
	}
	return out
}

// renamed is a text with addresses in the place of names.
func (x *wire) renamed(text string) string {
	for _, n := range x.c.site.redis {
		ip, port := x.names(n.name)
		text = strings.ReplaceAll(text, n.name+":"+redisPort, net.JoinHostPort(ip, port))
		text = strings.ReplaceAll(text, "master_host:"+n.name+"\r\nmaster_port:"+redisPort, "master_host:"+ip+"\r\nmaster_port:"+port)
	}
	return text
}
