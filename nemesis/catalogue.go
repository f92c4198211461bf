package nemesis

import (
	"errors"

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
			{Name: "lost-grant", Fits: doesNotWait, Plan: lostGrant},
			{Name: "stale-replica", Fits: waitsForOneOfTwo, Plan: staleReplica},
			{Name: "only-replica", Fits: waitsForTheOnlyOne, Plan: onlyReplica},
		},
	},
	{
		Name:    "kill",
		Summary: "SIGKILL a server at a random moment, start it again seconds later",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "kill-process", Plan: killServer("process")},
			{Name: "kill-host", Plan: killServer("host")},
		},
	},
	{
		Name:    "restart",
		Summary: "a server is killed and back, empty, before anyone notices",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "restart-empty", Fits: hasLockServer, Plan: restartEmpty},
			{Name: "restart-keep", Fits: onlySQL, Plan: restartSQL},
		},
	},
	{
		Name:     "switchover",
		Summary:  "a manual failover under load: nothing dies",
		Needs:    needReplicas,
		Variants: []Variant{{Name: "switchover", Plan: switchover}},
	},
	{
		Name:    "partition",
		Summary: "cut links: split brain, replicas off, clients off, one way, off the lock but not the stock",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "split-brain", Fits: hasSentinels, Plan: splitBrain},
			{Name: "off-the-lock", Fits: hasLockServer, Plan: offTheLock},
			{Name: "one-way", Fits: hasLockServer, Plan: oneWay},
			{Name: "clients-off", Plan: clientsOff},
			{Name: "replicas-off", Fits: hasReplicas, Plan: replicasOff},
		},
	},
	{
		Name:    "pause",
		Summary: "freeze a worker inside its critical section beyond the ttl, between two commands, its renewals only, or a server",
		Variants: []Variant{
			{Name: "pause-holder", Plan: pauseHolder},
			{Name: "pause-renewals", Fits: renews, Plan: pauseRenewals},
			{Name: "pause-between-steps", Fits: hasSteps, Plan: pauseBetweenSteps},
			{Name: "pause-server", Fits: hasServer, Plan: pauseServer},
			{Name: "pause-before-ttl", Fits: hasLease, Plan: pauseNearTTL(-1)},
			{Name: "pause-after-ttl", Fits: hasLease, Plan: pauseNearTTL(+1)},
		},
	},
	{
		Name:    "clock",
		Summary: "wall clocks jump forward, jump back, drift, strobe: on servers and on workers",
		Variants: []Variant{
			{Name: "server-forward", Fits: hasLockServer, Plan: serverForward},
			{Name: "worker-forward", Plan: workerForward},
			{Name: "server-back", Fits: hasLockServer, Plan: serverBack},
			{Name: "drift", Plan: drift},
			{Name: "strobe", Fits: hasLockServer, Plan: strobe},
		},
	},
	{
		Name:    "loss",
		Summary: "replies get lost, so that outcomes are unknown; packets between servers too",
		Needs:   needServer,
		Variants: []Variant{
			{Name: "lost-replies", Plan: lostReplies},
			{Name: "lost-packets", Fits: hasReplicas, Plan: lostPackets},
		},
	},
	{
		Name:    "crash",
		Summary: "a worker dies between two steps of its work",
		Variants: []Variant{
			{Name: "between-steps", Plan: crashAtStep},
			{Name: "any-moment", Plan: crashHolder},
		},
	},
	{
		Name:     "evict",
		Summary:  "memory pressure: the lock server throws keys away",
		Needs:    needLockServer,
		Variants: []Variant{{Name: "evict", Fits: hasLockServer, Plan: evict}},
	},
	{
		Name:     "delay",
		Summary:  "COMMIT takes longer than usual",
		Needs:    needSQL,
		Variants: []Variant{{Name: "slow-commit", Plan: slowCommit}},
	},
	{
		Name:     "cut-connection",
		Summary:  "a SQL connection is killed in the middle of its work",
		Needs:    needSQL,
		Variants: []Variant{{Name: "kill-connection", Plan: cutConnection}},
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
	needSQL        = need(func(p Params) bool { return p.SQL }, "the design uses no SQL server")
)

// heal undoes cuts, losses, skews and delays.
var heal = Step{Fault: histories.Fault{F: histories.Heal}}
