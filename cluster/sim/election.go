package sim

import (
	"slices"
	"time"
)

// failover is a Sentinel's attempt to make a replica the master.
type failover struct {
	state    state
	epoch    int64
	started  time.Duration // up to maxDesync later than it was: so they do not all start at once
	changed  time.Duration // when state last changed
	forced   bool          // by SENTINEL FAILOVER: needs nobody's agreement
	promoted *view
}

// state of a failover; those of sentinel.c.
type state int

const (
	idle          state = iota
	waitStart           // for the votes
	sendNoOne           // a replica is chosen, to be told
	waitPromotion       // until it says that it is master
	reconfigure         // the other replicas
)

// reconf is how far a replica has got in following the new master.
type reconf int

const (
	notAsked reconf = iota
	asked
	underWay
	followsNew
)

// vote is for a leader in one election.
type vote struct {
	leader string
	epoch  int64
}

func (x *sentinel) enter(s state) {
	x.failover.state, x.failover.changed = s, x.s.Now
}

// objectivelyDown: enough Sentinels find the master down.
func (x *sentinel) objectivelyDown() bool {
	if !x.view(x.master).down {
		return false
	}
	agree := 1
	for _, o := range x.others {
		if o.down {
			agree++
		}
	}
	return agree >= quorum
}

func (x *sentinel) shouldFailOver() bool {
	f := &x.failover
	return x.objectivelyDown() && f.state == idle && x.s.Now-f.started >= 2*failoverTimeout
}

func (x *sentinel) startFailover() {
	x.epoch++
	x.failover = failover{epoch: x.epoch, started: x.s.Now + x.desync()}
	x.enter(waitStart)
}

func (x *sentinel) desync() time.Duration {
	return time.Duration(x.rand.Int64N(int64(maxDesync)))
}

// askOthers asks the other Sentinels whether the master is down, and for
// their votes if this one has begun a failover.
func (x *sentinel) askOthers(now bool) {
	for _, o := range x.others {
		if x.s.Now-o.asked > 5*askPeriod {
			o.down, o.vote = false, vote{}
		}
		if !x.view(x.master).down || !now && x.s.Now-o.asked < askPeriod {
			continue
		}
		candidate := ""
		if x.failover.state != idle {
			candidate = x.name
		}
		o.link.ask(func(reply any) { x.hear(o, reply) }, "IS-MASTER-DOWN", x.master.name, candidate, itoa(x.epoch))
	}
}

// opinion is a Sentinel's answer about the master.
type opinion struct {
	down bool
	vote vote
}

func (x *sentinel) hear(o *other, reply any) {
	if answer, ok := reply.(opinion); ok {
		o.asked, o.down = x.s.Now, answer.down
		if answer.vote.leader != "" {
			o.vote = answer.vote
		}
	}
}

// opine answers another Sentinel that asks about the master.
func (x *sentinel) opine(master, candidate string, epoch int64) opinion {
	answer := opinion{down: master == x.master.name && x.view(x.master).down && !x.tilted()}
	if candidate != "" {
		answer.vote = x.cast(candidate, epoch)
	}
	return answer
}

// cast votes for the first candidate of an epoch, and tells for whom.
func (x *sentinel) cast(candidate string, epoch int64) vote {
	x.epoch = max(x.epoch, epoch)
	if x.vote.epoch < epoch && x.epoch <= epoch {
		x.vote = vote{candidate, x.epoch}
		if candidate != x.name {
			x.failover.started = x.s.Now + x.desync()
		}
	}
	return x.vote
}

// elected reports whether this Sentinel has the votes to lead its failover.
func (x *sentinel) elected() bool {
	votes := map[string]int{}
	winner := x.name
	for _, o := range x.others {
		if o.vote.epoch == x.epoch && o.vote.leader != "" {
			if votes[o.vote.leader]++; votes[o.vote.leader] > votes[winner] {
				winner = o.vote.leader
			}
		}
	}
	if mine := x.cast(winner, x.failover.epoch); mine.epoch == x.failover.epoch {
		votes[mine.leader]++
	}
	return votes[x.name] >= max(quorum, len(x.everyone)/2+1)
}

// advance takes the failover one step further, if it can.
func (x *sentinel) advance() {
	f := &x.failover
	late := x.s.Now-f.changed > failoverTimeout
	switch f.state {
	case waitStart:
		if !f.forced && !x.elected() {
			if x.s.Now-f.started > min(electionTimeout, failoverTimeout) {
				x.abort()
			}
			return
		}
		if f.promoted = x.choose(); f.promoted == nil {
			x.abort()
			return
		}
		x.enter(sendNoOne)
	case sendNoOne:
		if f.promoted.link.ask(nil, "REPLICAOF", "NO", "ONE") {
			x.enter(waitPromotion)
		} else if late {
			x.abort()
		}
	case waitPromotion:
		if late {
			x.abort()
		}
	case reconfigure:
		x.reconfigureNext()
		if late || x.allFollow() {
			x.switchTo(f.promoted.node)
		}
	}
}

func (x *sentinel) abort() {
	started := x.failover.started
	x.failover = failover{started: started}
	for _, v := range x.views {
		v.reconf = notAsked
	}
}

// choose picks the replica that is well and has the most of the master's
// writes.
func (x *sentinel) choose() *view {
	master := x.view(x.master)
	infoValid, linkDown := 3*infoPeriod, 10*x.downAfter
	if master.down {
		infoValid, linkDown = 5*pingPeriod, linkDown+x.s.Now-master.downAt
	}
	var good []*view
	for _, v := range x.views {
		switch {
		case v == master, v.down, !v.link.up, v.info.master == nil:
		case x.s.Now-v.heard > 5*pingPeriod, x.s.Now-v.infoAt > infoValid, v.info.linkDown > linkDown:
		default:
			good = append(good, v)
		}
	}
	if good == nil {
		return nil
	}
	return slices.MinFunc(good, func(a, b *view) int {
		switch {
		case a.info.offset != b.info.offset:
			return int(b.info.offset - a.info.offset)
		case a.info.run < b.info.run:
			return -1
		}
		return 1
	})
}

// reconfigureNext tells the other replicas, one at a time, whom to follow.
func (x *sentinel) reconfigureNext() {
	for _, v := range x.views {
		if v.reconf == asked || v.reconf == underWay {
			return
		}
	}
	for _, v := range x.views {
		if v.node == x.master || v == x.failover.promoted || v.reconf == followsNew || v.down {
			continue
		}
		if v.link.ask(nil, "REPLICAOF", x.failover.promoted.node.name, "6379") {
			v.reconf = asked
			return
		}
	}
}

func (x *sentinel) allFollow() bool {
	return !slices.ContainsFunc(x.views, func(v *view) bool {
		return v.node != x.master && v != x.failover.promoted && v.reconf != followsNew && !v.down
	})
}
