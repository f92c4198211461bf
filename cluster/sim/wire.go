package sim

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
	"github.com/lockcheck/lockcheck/protocol"
)

// wire is a connection of the user's own program, byte for byte, over the
// simulated network.
type wire struct {
	o    *own
	slot int
	c    *vtime.Conn
	up   bool
}

// synLimit is when a kernel gives up an attempt to connect that nobody answers.
const synLimit = 127 * time.Second

// dial makes the connection that the program has asked for.
func (o *own) dial(d preload.Dial) {
	to := o.c.machineAt(d.Address)
	if to == nil { // no such machine
		o.c.s.After(vtime.BaseLatency, o.proc, func() { o.fail(d.Slot, preload.Refused) })
		return
	}
	x := &wire{o: o, slot: d.Slot}
	o.wires[d.Slot] = x
	x.c = o.c.net.Dial(o.proc, to, func(_ *vtime.Conn, err error) {
		if err != nil {
			o.fail(d.Slot, preload.Refused)
			return
		}
		x.up = true
		x.c.End[0].OnBreak = x.broken
		o.program.Connect(d.Slot)
		o.wake()
	})
	x.c.Bytes = x.receive
	o.c.s.After(synLimit, o.proc, func() {
		if !x.up && o.wires[d.Slot] == x {
			x.c.Close(0)
			o.fail(d.Slot, preload.TimedOut)
		}
	})
}

func (o *own) fail(slot int, why preload.Failure) {
	delete(o.wires, slot)
	if !o.ended {
		o.program.Fail(slot, why)
		o.wake()
	}
}

// sent carries what the program has written, and its goodbye.
func (o *own) sent(s preload.Sent) {
	x := o.wires[s.Slot]
	if x == nil {
		return
	}
	if len(s.Bytes) > 0 && x.up {
		x.c.Send(1, func() { o.c.serveBytes(x, s.Bytes) })
	}
	if s.Closed {
		delete(o.wires, s.Slot)
		x.c.Close(0)
	}
}

// receive hands bytes of the server to the program.
func (x *wire) receive(data []byte) {
	if !x.o.ended {
		x.o.program.Deliver(x.slot, data)
		x.o.wake()
	}
}

// broken: the server has closed the connection.
func (x *wire) broken() {
	delete(x.o.wires, x.slot)
	if !x.o.ended {
		x.o.program.Hangup(x.slot)
		x.o.wake()
	}
}

// serveBytes is what a server does with bytes of a program.
func (c *simulation) serveBytes(x *wire, data []byte) {
	s := x.c.Session
	if knownOf(s).front == nil {
		knownOf(s).front = c.front(x)
	}
	if knownOf(s).front == nil { // it speaks no RESP
		x.c.Close(1)
		return
	}
	knownOf(s).front.Receive(data)
	if knownOf(s).front.Closed() {
		x.c.End[1].Process.Serve.Hangup(s)
		x.c.Close(1)
	}
}

// front begins a server's side of the wire protocol.
func (c *simulation) front(x *wire) *resp.Session {
	c.fronts++
	send := func(b []byte) {
		if x.c.End[1].Open {
			x.c.Send(0, func() { x.c.Bytes(b) })
		}
	}
	switch s := x.c.End[1].Process.Serve.(type) {
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
	w := f.x.o.w
	f.n.Serve(f.x.c.Session, args, func(r any) {
		if w.loses(nil, args, r) {
			f.x.c.Deaf[0] = true
		}
		reply(f.x.o.c.publicly(strings.ToUpper(args[0]), r))
	})
}

// Listen implements resp.Backend.
func (f *nodeFront) Listen(channel string, on bool) { f.n.listen(f.x.c.Session, channel, on) }

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

// ipOf is the address of a server.
func (c *simulation) ipOf(name string) string {
	for i, s := range c.site.servers {
		if s.label() == name {
			return fmt.Sprintf("10.8.0.%d", i+1)
		}
	}
	return ""
}

// machineAt is the machine at an address, if something there listens or could.
func (c *simulation) machineAt(address string) *vtime.Host {
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	for _, s := range c.site.servers {
		want := redisPort
		if _, is := s.(*sentinel); is {
			want = sentinelPort
		}
		if port == want && c.ipOf(s.label()) == ip {
			return s.machine()
		}
	}
	return nil
}

// masterName is what Sentinels call the master that they watch.
const masterName = "lockcheck"

// introduce tells a program what servers there are.
func (c *simulation) introduce(h *protocol.Hello) {
	for _, n := range c.site.redis {
		address := c.ipOf(n.name) + ":" + redisPort
		switch {
		case n.member != nil:
			h.Cluster = append(h.Cluster, address)
		case len(c.site.sentinels) == 0:
			h.Redis = append(h.Redis, address)
		}
	}
	for _, x := range c.site.sentinels {
		h.Sentinels = append(h.Sentinels, c.ipOf(x.name)+":"+sentinelPort)
		h.Master = masterName
	}
	if c.site.stock != nil {
		h.Stock = c.ipOf(c.site.stock.name) + ":" + redisPort
	}
}

// publicly is a reply with the addresses of servers in the place of their
// names, which no program could resolve.
func (c *simulation) publicly(command string, reply any) any {
	switch r := reply.(type) {
	case redis.Error:
		if strings.HasPrefix(string(r), "MOVED ") || strings.HasPrefix(string(r), "ASK ") {
			return redis.Error(c.renamed(string(r)))
		}
	case string:
		if command == "INFO" || command == "ROLE" || command == "CLUSTER" {
			return c.renamed(r)
		}
	case []any:
		if command == "ROLE" || command == "CLUSTER" {
			out := make([]any, len(r))
			for i, item := range r {
				out[i] = c.publicly(command, item)
			}
			return out
		}
	}
	return reply
}

func (c *simulation) renamed(text string) string {
	for _, n := range c.site.redis {
		text = strings.ReplaceAll(text, n.name, c.ipOf(n.name))
	}
	return text
}
