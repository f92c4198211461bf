package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// sentinel is one of the Sentinels that watch a master and its replicas. It
// follows sentinel.c of Redis 7.0: its states, its periods and the order of
// its checks. One thing is simpler: Sentinels talk to each other directly
// rather than through the pub/sub of the servers that they watch.
type sentinel struct {
	daemon
	rand      *rand.Rand
	nodes     []*node
	everyone  []*sentinel // this one among them
	downAfter time.Duration

	// What its configuration file keeps.
	epoch       int64 // of elections
	vote        vote
	master      *node
	configEpoch int64 // of the election that made it master

	// The process's own.
	views    []*view
	others   []*other
	failover failover
	fans     []*vtime.Session // clients that want to know of a switch
	lastTick time.Time        // on its own wall clock
	tilt     time.Duration
}

// view is what a Sentinel knows of a server.
type view struct {
	node *node
	link *caller

	pinged   time.Duration // when the oldest unanswered PING was sent; never: none
	lastPing time.Duration
	lastPong time.Duration // last reply of any kind
	heard    time.Duration // last reply of a server that is well
	down     bool          // subjectively
	downAt   time.Duration // when it last went down

	infoAsked, infoAt time.Duration
	info              report
	roleSince         time.Duration // since when it reports its role …
	masterSince       time.Duration // … and its master
	reconf            reconf
}

// report is what a Sentinel reads from INFO.
type report struct {
	master   *node // whom it replicates; nil: it says that it is a master
	linkUp   bool
	linkDown time.Duration // how long its link with the master has been down
	offset   int64
	run      string // id of the process
}

// other is what a Sentinel knows of another one.
type other struct {
	sentinel *sentinel
	link     *caller
	hello    time.Duration // when this one last greeted it
	asked    time.Duration // when it last answered about the master
	down     bool          // it says that the master is down
	vote     vote
}

// Periods of sentinel.c, and settings of sentinel.conf as tests use them.
const (
	sentinelTick    = 100 * time.Millisecond
	pingPeriod      = time.Second
	infoPeriod      = 10 * time.Second
	infoSoon        = time.Second
	helloPeriod     = 2 * time.Second
	askPeriod       = time.Second
	tiltTrigger     = 2 * time.Second
	tiltPeriod      = 30 * time.Second
	minReconnect    = 15 * time.Second
	maxDesync       = time.Second
	electionTimeout = 10 * time.Second
	failoverTimeout = 5 * time.Second
	quorum          = 2
)

// boot starts the process with what its configuration file says.
func (x *sentinel) boot(bool) {
	x.rise(x)
	x.fans, x.others, x.tilt = nil, nil, vtime.Never
	x.lastTick = x.box.Wall.At(x.s.Now)
	for _, o := range x.everyone {
		if o != x {
			x.others = append(x.others, &other{sentinel: o, link: newCaller(x.net, x.proc, o.box), hello: vtime.Never, asked: vtime.Never})
		}
	}
	x.views = nil
	for _, n := range x.nodes {
		x.views = append(x.views, &view{node: n, link: newCaller(x.net, x.proc, n.box)})
	}
	x.reset()
	for _, v := range x.views {
		v.lastPong -= x.net.Phase(pingPeriod)
	}
	x.s.Every(sentinelTick, x.net.Phase(sentinelTick), x.proc, x.tick)
}

func (x *sentinel) kill(mode string) { x.fall(mode) }

// reset begins to look at everything afresh, as after a switch of masters.
func (x *sentinel) reset() {
	now := x.s.Now
	for _, v := range x.views {
		link := v.link
		*v = view{node: v.node, link: link, pinged: vtime.Never, lastPing: vtime.Never, lastPong: now, heard: now,
			downAt: vtime.Never, infoAsked: vtime.Never, infoAt: vtime.Never, roleSince: now, masterSince: now}
		if v.node != x.master {
			v.info.master = x.master
		}
	}
	for _, o := range x.others {
		o.down, o.vote, o.asked = false, vote{}, vtime.Never
	}
	x.failover = failover{started: vtime.Never}
}

func (x *sentinel) view(n *node) *view {
	return x.views[slices.IndexFunc(x.views, func(v *view) bool { return v.node == n })]
}

// tick is what a Sentinel does ten times a second.
func (x *sentinel) tick() {
	x.checkClock()
	for _, v := range x.views {
		v.link.ensure()
		x.ping(v)
		x.askInfo(v)
	}
	for _, o := range x.others {
		o.link.ensure()
		x.greet(o)
	}
	if x.tilted() {
		return
	}
	for _, v := range x.views {
		x.judge(v)
	}
	if x.shouldFailOver() {
		x.startFailover()
		x.askOthers(true)
	}
	x.advance()
	x.askOthers(false)
}

// checkClock: a Sentinel whose clock jumped, or that stood still, does not
// trust itself for a while (TILT).
func (x *sentinel) checkClock() {
	wall := x.box.Wall.At(x.s.Now)
	if d := wall.Sub(x.lastTick); d < 0 || d > tiltTrigger {
		x.tilt = x.s.Now
	}
	x.lastTick = wall
}

func (x *sentinel) tilted() bool { return x.s.Now-x.tilt < tiltPeriod }

// ping asks whether a server lives.
func (x *sentinel) ping(v *view) {
	now, period := x.s.Now, min(x.downAfter, pingPeriod)
	if now-v.lastPong <= period || now-v.lastPing <= period/2 {
		return
	}
	if v.link.ask(func(reply any) { x.pong(v, reply) }, "PING") {
		v.lastPing = now
		if v.pinged == vtime.Never {
			v.pinged = now
		}
	}
}

// pong: a server that is loading is alive all the same.
func (x *sentinel) pong(v *view, reply any) {
	v.lastPong = x.s.Now
	bad, isError := reply.(redis.Error)
	if !isError || len(bad) > 7 && bad[:7] == "LOADING" {
		v.heard, v.pinged = x.s.Now, vtime.Never
	}
}

// judge decides whether a server is subjectively down.
func (x *sentinel) judge(v *view) {
	now := x.s.Now
	var silent time.Duration
	switch {
	case v.pinged != vtime.Never:
		silent = now - v.pinged
	case !v.link.up:
		silent = now - v.heard
	}
	if v.link.up && now-v.link.since > minReconnect && silent > x.downAfter/2 && now-v.lastPong > x.downAfter/2 {
		v.link.close()
	}
	wrongRole := v.node == x.master && v.info.master != nil && now-v.roleSince > x.downAfter+2*infoPeriod
	down := silent > x.downAfter || wrongRole
	if down && !v.down {
		v.downAt = now
	}
	v.down = down
}

// askInfo asks a server for its role: often while a failover is near.
func (x *sentinel) askInfo(v *view) {
	now, period := x.s.Now, infoPeriod
	if v.node != x.master && (x.objectivelyDown() || x.failover.state != idle || v.info.linkDown > 0) {
		period = infoSoon
	}
	if now-v.infoAt <= period || now-v.infoAsked <= infoSoon/2 {
		return
	}
	if v.link.ask(func(reply any) { x.learn(v, reply) }, reportCommand) {
		v.infoAsked = now
	}
}
