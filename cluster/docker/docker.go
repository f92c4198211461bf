//go:build unix

// Package docker is the real cluster: Redis, Sentinel, MariaDB and RabbitMQ
// servers in containers, workers as operating-system processes, faults that
// are done to both for real.
//
// Start with Provider, which keeps servers between cells and lends them, and
// with system.go, the Cluster that it lends. Then, in the order of a run:
//
//	engine.go, image.go, network.go      the container engine, our image, a private network
//	node.go, reach.go, shell.go          servers, where they are reached, their process 1
//	topology.go, prepare.go, healthy.go  how they stand to each other, and whether they do
//	hosts.go, findings.go                worker processes from outside; package process is one from inside
//	inject.go, roles.go, fault_*.go      the faults, each with the proof that it bit
//	watch.go                             which server is master, as the servers themselves say
//	clean.go, owner.go                   removing what a killed run left
//
// Containers are made through testcontainers-go. Pausing, killing, attaching
// and networks go through the Docker client under it, which testcontainers
// does not wrap. Nothing without the label lockcheck=1 is ever touched.
//
// The package judges nothing and plans nothing: schedules are package
// nemesis, verdicts package checker.
package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/cluster"
)

// DefaultImage is the base that the nodes' image is built on.
const DefaultImage = "debian:bookworm-slim"

// Config is what a Provider needs to know. The zero value is ready to use.
type Config struct {
	Image string       // base image: any Debian-based one, with or without Redis or Valkey; default DefaultImage
	Log   *slog.Logger // default: discards
	Tell  func(string) // hears that an image is built, which takes minutes; default: nobody
	Self  string       // the executable whose hidden verb `worker` calls process.Main; default this one
	Args  []string     // what to start Self with; default `worker`

	// Inert makes Inject do nothing to anything: a fault is resolved and
	// looked at, and has no proof. It shows that proofs are not made up.
	Inert bool
}

// Provider keeps servers from run to run. Make it with New.
type Provider struct {
	Config
	run      string // marks all that it makes
	password string // of its SQL servers and brokers
	engine   *engine

	mu     sync.Mutex // one run at a time
	net    *subnet
	groups map[string]*group

	imagesMu sync.Mutex
	images   map[imageKind]string

	reachMu sync.Mutex
	direct  bool // containers answer at their own addresses, as far as is known
}

var _ cluster.Provider = (*Provider)(nil)

// New connects to the container engine. The error says what is wrong and
// what to do; it comes within seconds.
func New(ctx context.Context, c Config) (*Provider, error) {
	c.Image = cmp.Or(c.Image, DefaultImage)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Tell == nil {
		c.Tell = func(string) {}
	}
	if c.Self == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		c.Self = self
	}
	if c.Args == nil {
		c.Args = []string{"worker"}
	}
	e, err := connect(ctx, c.Log)
	if err != nil {
		return nil, err
	}
	return &Provider{
		Config: c, run: newRunID(), password: rand.Text(), engine: e, images: map[imageKind]string{}, groups: map[string]*group{},
	}, nil
}

func newRunID() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Cell returns a healthy, empty cluster, one at a time: it waits for
// the run before to have ended.
func (p *Provider) Cell(ctx context.Context, o cluster.Options) (cluster.Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o = withDefaults(o)
	lent := time.Now()
	var groups []*group
	for _, spec := range groupsOf(o.Topology) {
		g, err := p.group(ctx, spec)
		if err != nil {
			return nil, fmt.Errorf("bring up %s: %w", spec.name, err)
		}
		if err := g.prepare(ctx, o); err != nil {
			return nil, fmt.Errorf("reset %s: %w", spec.name, err)
		}
		groups = append(groups, g)
	}
	c, err := newCell(ctx, p, o, groups)
	if err != nil {
		return nil, err
	}
	c.lent = lent
	return c, nil
}

func withDefaults(o cluster.Options) cluster.Options {
	o.Workers = cmp.Or(o.Workers, 10)
	o.PerHost = cmp.Or(o.PerHost, 1)
	o.CallTimeout = cmp.Or(o.CallTimeout, defaultCallTimeout)
	o.DownAfter = cmp.Or(o.DownAfter, defaultDownAfter)
	o.Topology.Persistence = cmp.Or(o.Topology.Persistence, persistNone)
	return o
}

// group answers the running servers of spec, and starts them at first.
func (p *Provider) group(ctx context.Context, spec groupSpec) (*group, error) {
	if g := p.groups[spec.name]; g != nil {
		return g, nil
	}
	if p.net == nil {
		n, err := p.engine.newNetwork(ctx, p.run)
		if err != nil {
			return nil, err
		}
		p.net = n
	}
	g, err := p.start(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, p.discard(ctx, g))
	}
	p.groups[spec.name] = g
	return g, nil
}

// Close removes the containers and the network. The images stay: they are
// what makes the next start fast.
func (p *Provider) Close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.groups {
		g.close()
	}
	clear(p.groups)
	p.net = nil
	_, err := p.engine.remove(ctx, client.Filters{}.Add("label", runLabel+"="+p.run), none)
	return errors.Join(err, p.engine.close())
}
