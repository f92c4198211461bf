package nemesis

import (
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// The episodes of the catalogue. Each is a few lines of data; the comments
// say why the steps are what they are.

// longGrant waits for a worker to begin a long critical section; free: under
// a key that is not locked in a stale replica already. A design without lock
// has only its sales to aim at.
func longGrant(p Params, free bool) *Trigger {
	if p.Lockless {
		return &Trigger{F: []string{histories.Sell}}
	}
	free = free && !p.Unreplicated
	t := &Trigger{F: []string{histories.Acquire}, Free: free, MinWork: p.LongWork}
	if free {
		t.Lease = p.TTL
	}
	return t
}

func step(f histories.Fault) Step { return Step{Fault: f} }

func after(d time.Duration, f histories.Fault) Step { return Step{After: d, Fault: f} }

func on(t *Trigger, f histories.Fault) Step { return Step{On: t, Fault: f} }

// between draws a duration from [lo, hi).
func (p Params) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(p.Rand.Int64N(int64(hi-lo)))
}

// lease is the TTL, or what stands for it where the design has none.
func (p Params) lease() time.Duration {
	if p.TTL > 0 {
		return p.TTL
	}
	return 3 * time.Second
}

// server is a server that a client talks to: the master, one of several
// independent ones, or the SQL server.
func (p Params) server() string {
	switch {
	case p.Servers == 0:
		return histories.RoleSQL
	case p.Replicas:
		return histories.RoleMaster
	}
	return fmt.Sprintf("redis-%d", 1+p.Rand.IntN(p.Servers))
}

// worker draws one.
func (p Params) worker() string {
	return histories.WorkerName(p.Rand.IntN(max(p.Workers, 1)))
}

// same is the name under which the server that was just hit is found again:
// another may be master by then.
func same(target string) string {
	if target == histories.RoleMaster {
		return histories.RoleOldMaster
	}
	return target
}

var promoted = &Trigger{F: []string{histories.Promoted}, Within: 12 * time.Second}

// lostGrant: the grant of a key that was free at the cut is known to the
// master alone, and dies with it. The hold must outlast the promotion.
//
//	replicas ──cut──────────────────────────── promoted ── grant to B
//	master        grant to A ── killed              ▲
//	A                 [───────── believes ──────────┼───────────]
func lostGrant(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleMaster}, To: []string{histories.RoleReplicas}}),
		on(longGrant(p, true), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleKeyMaster}}),
		heal,
		{On: promoted, After: time.Second, Fault: histories.Fault{F: histories.Start, Targets: []string{histories.RoleOldMaster}}},
	}
}

// staleReplica: one replica acknowledges the grant, the other, which the
// master cannot reach, is promoted: WAIT is no quorum.
//
//	one-replica     ── has it ── cut off from the sentinels
//	other-replicas  ── cut from the master ─────────── promoted ── grant to B
//	master             grant to A ── killed
func staleReplica(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleMaster}, To: []string{histories.RoleOtherReplicas}}),
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleOneReplica}, To: []string{histories.RoleSentinels, histories.RoleOtherReplicas}}),
		on(longGrant(p, true), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleKeyMaster}}),
		{On: promoted, Fault: histories.Fault{F: histories.Heal}},
		after(time.Second, histories.Fault{F: histories.Start, Targets: []string{histories.RoleOldMaster}}),
	}
}

// onlyReplica: where a master has one replica, a grant that waited for it
// survives the master. There is nothing to be cut off: without the replica
// nothing is granted.
func onlyReplica(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleKeyMaster}}),
		{On: promoted, After: time.Second, Fault: histories.Fault{F: histories.Start, Targets: []string{histories.RoleOldMaster}}},
	}
}

func killServer(mode string) func(Params) []Step {
	return func(p Params) []Step {
		target := p.server()
		return []Step{
			after(p.between(0, 2*time.Second), histories.Fault{F: histories.Kill, Targets: []string{target}, Mode: mode}),
			after(p.between(time.Second, 4*time.Second), histories.Fault{F: histories.Start, Targets: []string{same(target)}}),
		}
	}
}

// restartEmpty brings the servers back before Sentinel notices: the replicas
// then copy the empty master. Of independent servers it takes a majority.
func restartEmpty(p Params) []Step {
	targets := []string{histories.RoleMaster}
	if !p.Replicas {
		targets = nil
		for i := range p.Servers/2 + 1 {
			targets = append(targets, fmt.Sprintf("redis-%d", i+1))
		}
	}
	steps := []Step{on(longGrant(p, false), histories.Fault{F: histories.Kill, Targets: targets[:1], Mode: histories.ModeProcess})}
	for i, target := range targets {
		if i > 0 {
			steps = append(steps, step(histories.Fault{F: histories.Kill, Targets: []string{target}, Mode: histories.ModeProcess}))
		}
		steps = append(steps, after(100*time.Millisecond, histories.Fault{F: histories.Start, Targets: []string{same(target)}, Mode: histories.ModeEmpty}))
	}
	return steps
}

func restartSQL(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleSQL}, Mode: histories.ModeProcess}),
		after(100*time.Millisecond, histories.Fault{F: histories.Start, Targets: []string{histories.RoleSQL}}),
	}
}

func switchover(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Failover, Targets: []string{histories.RoleMaster}}),
		after(2*time.Second, histories.Fault{F: histories.Heal}),
	}
}

// splitBrain leaves the master with half of the workers and one sentinel: those
// workers find no other master. The rest goes on without them. The two other
// sentinels lose the master one after the other: at the same time each would
// vote for itself, and there would be no new master for ten seconds.
func splitBrain(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Partition, From: []string{histories.RoleMaster}, To: []string{"sentinel-2"}}),
		after(400*time.Millisecond, histories.Fault{
			F:    histories.Partition,
			From: []string{histories.RoleMaster, histories.RoleOneSentinel, histories.RoleHalfWorkers},
			To:   []string{histories.RoleReplicas, histories.RoleOtherSentinels, histories.RoleOtherWorkers},
		}),
		{On: promoted, After: p.lease(), Fault: histories.Fault{F: histories.Heal}},
	}
}

func replicasOff(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleMaster}, To: []string{histories.RoleReplicas}}),
		after(p.between(time.Second, 3*time.Second), histories.Fault{F: histories.Heal}),
	}
}

func clientsOff(p Params) []Step {
	target := histories.RoleLocks
	if p.Servers == 0 {
		target = histories.RoleSQL
	}
	return []Step{
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleHalfWorkers}, To: []string{target}}),
		after(p.between(time.Second, 3*time.Second), histories.Fault{F: histories.Heal}),
	}
}

// offTheLock cuts the holder off the lock, not off the stock, until its lease
// is over and someone else has had time to come in.
func offTheLock(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Partition, From: []string{histories.RoleHolder}, To: p.lockService()}),
		after(p.lease()*13/10, histories.Fault{F: histories.Heal}),
	}
}

// lockService is every server that a client of the lock talks to.
func (p Params) lockService() []string {
	if p.Sentinels {
		return []string{histories.RoleLocks, histories.RoleSentinels}
	}
	return []string{histories.RoleLocks}
}

// oneWay lets requests through and swallows the replies.
func oneWay(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Partition, From: []string{histories.RoleLocks}, To: []string{histories.RoleHalfWorkers}, OneWay: true}),
		after(p.between(time.Second, 3*time.Second), histories.Fault{F: histories.Heal}),
	}
}

// intoWork is how long after its grant a holder is paused: by then it has read
// the stock, and what it writes when it goes on is worked out from that.
const intoWork = 20 * time.Millisecond

// atWork pauses a holder in the middle of a long critical section.
func atWork(p Params) Step {
	return Step{On: longGrant(p, false), After: intoWork, Fault: histories.Fault{F: histories.Pause, Targets: []string{histories.RoleHolder}}}
}

func pauseHolder(p Params) []Step {
	return []Step{
		atWork(p),
		after(p.lease()*13/10, histories.Fault{F: histories.Resume, Targets: []string{histories.RoleHolder}}),
	}
}

func pauseRenewals(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Pause, Targets: []string{histories.RoleHolder}, Step: histories.StepRenewal}),
		after(p.lease()*13/10, histories.Fault{F: histories.Resume, Targets: []string{histories.RoleHolder}, Step: histories.StepRenewal}),
	}
}

// pauseWork has the holder hang in its work, for longer than its lease would
// last: its renewals know nothing of that.
func pauseWork(p Params) []Step {
	work := on(longGrant(p, false), histories.Fault{F: histories.Pause, Targets: []string{histories.RoleHolder}, Step: histories.StepWork})
	work.After = intoWork
	return []Step{
		work,
		after(p.lease()*22/10, histories.Fault{F: histories.Resume, Targets: []string{histories.RoleHolder}, Step: histories.StepWork}),
	}
}

// pauseBetweenSteps freezes a worker between two commands that should be one,
// until its lease has surely ended.
func pauseBetweenSteps(p Params) []Step {
	worker := p.worker()
	return []Step{
		step(histories.Fault{F: histories.Pause, Targets: []string{worker}, Step: p.Steps[p.Rand.IntN(len(p.Steps))]}),
		after(p.lease()*13/10, histories.Fault{F: histories.Resume, Targets: []string{worker}}),
	}
}

// pauseBeforeWrite freezes a worker that has looked at its deadline and is
// about to send its write. When it goes on, its lease has ended, whatever was
// renewed; nothing but the store can stop the write.
func pauseBeforeWrite(p Params) []Step {
	worker := p.worker()
	return []Step{
		step(histories.Fault{F: histories.Pause, Targets: []string{worker}, Step: histories.StepBeforeWrite}),
		after(p.lease()*13/10, histories.Fault{F: histories.Resume, Targets: []string{worker}}),
	}
}

func pauseServer(p Params) []Step {
	target := p.server()
	return []Step{
		step(histories.Fault{F: histories.Pause, Targets: []string{target}}),
		after(p.between(500*time.Millisecond, 4*time.Second), histories.Fault{F: histories.Resume, Targets: []string{same(target)}}),
	}
}

// pauseNearTTL freezes the holder at its work and lets it go on a moment
// before (or after) its lease ends: the narrowest stale write.
func pauseNearTTL(sign time.Duration) func(Params) []Step {
	return func(p Params) []Step {
		return []Step{
			atWork(p),
			after(p.TTL+sign*p.TTL/50-intoWork, histories.Fault{F: histories.Resume, Targets: []string{histories.RoleHolder}}),
		}
	}
}

// serverForward ends every lease at once.
func serverForward(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Skew, Targets: p.clocks(), Offset: p.lease() + time.Second}),
		after(3*time.Second, histories.Fault{F: histories.Heal}),
	}
}

// clocks are the servers to skew: the one that expires keys, or a majority.
func (p Params) clocks() []string {
	if p.Replicas || p.Servers == 1 {
		return []string{histories.RoleMaster}
	}
	var names []string
	for i := range p.Servers/2 + 1 {
		names = append(names, fmt.Sprintf("redis-%d", i+1))
	}
	return names
}

func serverBack(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Skew, Targets: p.clocks(), Offset: -p.lease()}),
		after(3*time.Second, histories.Fault{F: histories.Heal}),
	}
}

func workerForward(p Params) []Step {
	worker := p.worker()
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Skew, Targets: []string{worker}, Offset: p.lease() + time.Second}),
		after(3*time.Second, histories.Fault{F: histories.Heal}),
	}
}

func drift(p Params) []Step {
	targets := []string{histories.RoleHalfWorkers}
	if p.Servers > 0 {
		targets = append(targets, p.server())
	}
	return []Step{
		step(histories.Fault{F: histories.Skew, Targets: targets, Drift: 0.05}),
		after(5*time.Second, histories.Fault{F: histories.Heal}),
	}
}

// strobe jumps to and fro.
func strobe(p Params) []Step {
	var steps []Step
	for range 5 {
		steps = append(steps,
			after(200*time.Millisecond, histories.Fault{F: histories.Skew, Targets: p.clocks(), Offset: p.lease() / 2}),
			after(200*time.Millisecond, histories.Fault{F: histories.Skew, Targets: p.clocks(), Offset: -p.lease() / 2}))
	}
	return append(steps, heal)
}

func lostReplies(p Params) []Step {
	from := histories.RoleLocks
	if p.Servers == 0 {
		from = histories.RoleSQL
	}
	return []Step{
		step(histories.Fault{F: histories.Loss, From: []string{from}, To: []string{histories.RoleWorkers}, Rate: 0.1}),
		after(p.between(2*time.Second, 4*time.Second), histories.Fault{F: histories.Heal}),
	}
}

func lostPackets(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Loss, From: []string{histories.RoleMaster}, To: []string{histories.RoleReplicas}, Rate: 0.3}),
		after(p.between(2*time.Second, 4*time.Second), histories.Fault{F: histories.Heal}),
	}
}

// loseReply swallows the reply to the next operation of a kind, whichever worker makes
// it, and to a few more.
func loseReply(f string) func(Params) []Step {
	return func(p Params) []Step {
		var steps []Step
		for range 4 {
			steps = append(steps, after(p.between(0, 500*time.Millisecond),
				histories.Fault{F: histories.Loss, Targets: []string{histories.RoleWorkers}, Step: f}))
		}
		return steps
	}
}

func crashAtStep(p Params) []Step {
	worker := p.worker()
	return []Step{
		step(histories.Fault{F: histories.Crash, Targets: []string{worker}, Step: p.Crashes[p.Rand.IntN(len(p.Crashes))]}),
		after(backAgain, histories.Fault{F: histories.Start, Targets: []string{worker}}),
	}
}

// backAgain is when whoever looks after the workers starts a dead one again.
const backAgain = 3 * time.Second

func crashHolder(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleHolder}}),
		after(backAgain, histories.Fault{F: histories.Start, Targets: []string{histories.RoleHolder}}),
	}
}

func evict(p Params) []Step {
	target := histories.RoleKeyMaster
	if !p.Replicas {
		target = p.server()
	}
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Evict, Targets: []string{target}}),
	}
}

func slowCommit(p Params) []Step {
	return []Step{
		step(histories.Fault{F: histories.Delay, Targets: []string{histories.RoleWorkers}, Step: histories.StepCommit, For: 50 * time.Millisecond}),
		after(5*time.Second, histories.Fault{F: histories.Heal}),
	}
}

func cutConnection(p Params) []Step {
	return []Step{
		on(longGrant(p, false), histories.Fault{F: histories.Kill, Targets: []string{histories.RoleSQL}, Mode: histories.ModeConnection}),
	}
}

// cutRequest ends a worker's connections to the lock service right when it has
// begun to use one: the request is in flight. Not at the very next request: that
// may be of the worker that has just been cut off, and has no connection yet.
func cutRequest(p Params) []Step {
	f := []string{histories.Release, histories.Acquire}
	if p.Lockless {
		f = []string{histories.Sell}
	}
	var steps []Step
	for i := range 6 {
		steps = append(steps, on(&Trigger{F: f[i%len(f):][:1], Type: histories.Invoke, Nth: 15}, cutOff()))
	}
	return steps
}

// cutHolder ends them while a grant is held, those that wait for a message and
// those that wait for nothing.
func cutHolder(p Params) []Step {
	return []Step{on(longGrant(p, false), cutOff())}
}

func cutOff() histories.Fault {
	return histories.Fault{F: histories.Kill, Targets: []string{histories.RoleLocks}, To: []string{histories.RoleHolder}, Mode: histories.ModeConnection}
}
