package nemesis

import (
	"errors"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// None is the nemesis that does nothing.
const None = "none"

// Catalogue is the table of nemeses, in the order of `lockcheck list`.
var Catalogue = []Nemesis{
	{Name: None, Summary: "no faults: what concurrency alone does"},
	{
		Name:    "failover",
		Summary: "cut the replicas off, wait for the grant of a free key, kill the master, let Sentinel promote, bring the old master back",
		Needs:   needReplicas,
		Variants: []Variant{
			{Name: "lost-grant", Summary: "the replicas are cut off, a free key is granted, the master dies with the grant", Fits: doesNotWait, Plan: lostGrant},
			{Name: "stale-replica", Summary: "WAIT: one replica has the grant, the other one is promoted", Fits: waitsForOneOfTwo, Plan: staleReplica},
			{Name: "only-replica", Summary: "WAIT: the one replica has the grant and is promoted", Fits: waitsForTheOnlyOne, Plan: onlyReplica},
		},
	},
	{
		Name:    "kill",
		Summary: "SIGKILL a server at a random moment, start it again seconds later",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "kill-process", Summary: "its peers see their connections reset; back 1 to 4 s later", Plan: killServer(histories.ModeProcess)},
			{Name: "kill-host", Summary: "its peers hear nothing, as after a power cut; back 1 to 4 s later", Plan: killServer(histories.ModeHost)},
		},
	},
	{
		Name:    "restart",
		Summary: "a server is killed and back, empty, before anyone notices",
		Needs:   needServer,
		// Sentinel tries a broken connection once a second, so that a server which
		// was away for 100 ms is silent for more than a second.
		DownAfter: 3 * time.Second,
		Variants: []Variant{
			{Name: "restart-empty", Summary: "a master, or a majority of independent servers, is back empty after 100 ms", Fits: hasLockServer, Plan: restartEmpty},
			{Name: "restart-keep", Summary: "the SQL server is back after 100 ms with all it committed", Fits: onlySQL, Plan: restartSQL},
		},
	},
	{
		Name:     "switchover",
		Summary:  "a manual failover under load: nothing dies",
		Needs:    needReplicas,
		Variants: []Variant{{Name: "switchover", Summary: "CLUSTER FAILOVER or SENTINEL FAILOVER while a grant is held", Plan: switchover}},
	},
	{
		Name:    "partition",
		Summary: "cut links: split brain, replicas off, clients off, one way, off the lock but not the stock",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "split-brain", Summary: "the old master keeps half of the workers and one sentinel, the others promote a replica", Fits: hasSentinels, Plan: splitBrain},
			{Name: "off-the-lock", Summary: "the holder is cut off the lock, not off the stock, beyond the TTL", Fits: hasLockServer, Plan: offTheLock},
			{Name: "one-way", Summary: "requests of half of the workers arrive, the replies do not", Fits: hasLockServer, Plan: oneWay},
			{Name: "clients-off", Summary: "half of the workers are cut off for 1 to 3 s", Plan: clientsOff},
			{Name: "replicas-off", Summary: "the replicas are cut off the master for 1 to 3 s", Fits: hasReplicas, Plan: replicasOff},
		},
	},
	{
		Name:    "pause",
		Summary: "freeze a worker inside its critical section beyond the TTL, between two commands, its renewals only, its work only, or a server",
		Variants: []Variant{
			{Name: "pause-holder", Summary: "the holder is frozen in its critical section for 1.3 TTL", Plan: pauseHolder},
			{Name: "pause-before-write", Summary: "a worker is frozen between its look at the deadline and its write, for 1.3 TTL", Fits: writesUnderLock, Plan: pauseBeforeWrite},
			{Name: "pause-renewals", Summary: "only the holder's renewals stop, for 1.3 TTL", Fits: renews, Plan: pauseRenewals},
			{Name: "pause-work", Summary: "only the holder's work stands still, for 2.2 TTL: its renewals go on", Fits: renews, Plan: pauseWork},
			{Name: "pause-between-steps", Summary: "a worker is frozen between two of its commands for 1.3 × TTL", Fits: hasSteps, Plan: pauseBetweenSteps},
			{Name: "pause-server", Summary: "a server is frozen for 0.5 to 4 s", Fits: hasServer, Plan: pauseServer},
			{Name: "pause-before-ttl", Summary: "the holder goes on 2 % of the TTL before its lease ends", Fits: hasLease, Plan: pauseNearTTL(-1)},
			{Name: "pause-after-ttl", Summary: "the holder goes on 2 % of the TTL after its lease has ended", Fits: hasLease, Plan: pauseNearTTL(+1)},
		},
	},
	{
		Name:    "clock",
		Summary: "wall clocks jump forward, jump back, drift, strobe: on servers and on workers",
		Variants: []Variant{
			{Name: "server-forward", Summary: "a server's clock (or a majority's) jumps by TTL + 1 s: all leases end", Fits: hasLockServer, Plan: serverForward},
			{Name: "worker-forward", Summary: "a worker's clock jumps by TTL + 1 s", Plan: workerForward},
			{Name: "server-back", Summary: "a server's clock (or a majority's) jumps back by the TTL", Fits: hasLockServer, Plan: serverBack},
			{Name: "drift", Summary: "the clocks of a server and half of the workers run 5 % fast", Plan: drift},
			{Name: "strobe", Summary: "a server's clock (or a majority's) jumps to and fro by half the TTL", Fits: hasLockServer, Plan: strobe},
		},
	},
	{
		Name:    "loss",
		Summary: "replies get lost, so that outcomes are unknown; packets between servers too",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "lost-replies", Summary: "10 % of what the lock servers send to workers is lost", Plan: lostReplies},
			{Name: "lost-release-reply", Summary: "a release acts, and its worker never hears of it; four times", Fits: takesLock, Plan: loseReply(histories.Release)},
			{Name: "lost-acquire-reply", Summary: "a lock is granted, and its worker never hears of it; four times", Fits: takesLock, Plan: loseReply(histories.Acquire)},
			{Name: "lost-extend-reply", Summary: "a lease is renewed, and its worker never hears of it; four times", Fits: renews, Plan: loseReply(histories.Extend)},
			{Name: "lost-write-reply", Summary: "stock is written, and its worker never hears of it; four times", Fits: writesRedis, Plan: loseReply(histories.Write)},
			{Name: "lost-commit-reply", Summary: "a transaction that writes stock commits, and its worker never hears of it; four times", Fits: commits, Plan: loseReply(histories.Write)},
			{Name: "lost-packets", Summary: "30 % of what the master sends to its replicas is lost", Fits: hasReplicas, Plan: lostPackets},
		},
	},
	{
		Name:    "crash",
		Summary: "a worker dies between two steps of its work",
		Variants: []Variant{
			{Name: "between-steps", Summary: "a worker is killed at a place between two commands, and started again 3 s later", Fits: canCrash, Plan: crashAtStep},
			{Name: "any-moment", Summary: "a holder is killed, and started again 3 s later", Plan: crashHolder},
		},
	},
	{
		Name:     "evict",
		Summary:  "memory pressure: the lock server throws keys away",
		Needs:    needLockServer,
		Variants: []Variant{{Name: "evict", Summary: "a server throws keys away while a grant is held", Fits: hasLockServer, Plan: evict}},
	},
	{
		Name:     "delay",
		Summary:  "COMMIT takes longer than usual",
		Needs:    needSQL,
		Variants: []Variant{{Name: "slow-commit", Summary: "each COMMIT takes 50 ms longer, for 5 s", Plan: slowCommit}},
	},
	{
		Name:    "cut-connection",
		Summary: "connections are killed: by the server, or by what stands between",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "kill-connection", Summary: "SQL connections are killed while a grant is held", Fits: hasSQL, Plan: cutConnection},
			{Name: "cut-request", Summary: "Redis: a worker's connections end while it asks for the lock or releases it; six times", Fits: hasLockServer, Plan: cutRequest},
			{Name: "cut-holder", Summary: "Redis: all connections of a holder end, its subscriptions too", Fits: hasLockServer, Plan: cutHolder},
		},
	},
}

func hasReplicas(p Params) bool        { return p.Replicas }
func hasLockServer(p Params) bool      { return p.Servers > 0 }
func hasServer(p Params) bool          { return p.Servers > 0 || p.SQL }
func onlySQL(p Params) bool            { return p.Servers == 0 && p.SQL }
func waitsForOneOfTwo(p Params) bool   { return p.Waits && p.Sentinels }
func waitsForTheOnlyOne(p Params) bool { return p.Waits && !p.Sentinels }
func doesNotWait(p Params) bool        { return !p.Waits }
func hasLease(p Params) bool           { return p.TTL > 0 }
func canCrash(p Params) bool           { return len(p.Crashes) > 0 }
func hasSQL(p Params) bool             { return p.SQL }
func takesLock(p Params) bool          { return !p.Lockless }
func writesUnderLock(p Params) bool    { return p.WritesUnderLock }
func writesRedis(p Params) bool        { return p.WritesRedis }
func commits(p Params) bool            { return p.Commits }
func hasSteps(p Params) bool           { return len(p.Steps) > 0 }
func hasSentinels(p Params) bool       { return p.Sentinels }
func renews(p Params) bool             { return p.Renews }

func need(fits func(Params) bool, why string) func(Params) error {
	return func(p Params) error {
		if !fits(p) {
			return errors.New(why)
		}
		return nil
	}
}

var (
	needReplicas   = need(hasReplicas, "the design's topology has no replica to fail over to")
	needServer     = need(hasServer, "the design uses no server that could be hit")
	needLockServer = need(hasLockServer, "the design uses no Redis that could be hit")
	needSQL        = need(hasSQL, "the design uses no SQL server")
)

// heal undoes cuts, losses, skews and delays.
var heal = Step{Fault: histories.Fault{F: histories.Heal}}
