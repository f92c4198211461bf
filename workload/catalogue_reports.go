package workload

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// ofReports are known bad too: mechanisms of which users of lock libraries
// have reported what they do.
var ofReports = []Design{
	{
		Name: "fair-queue", Origin: "redisson#4595, #3730, #1104",
		Summary:  "waiters stand in a list, and only its head may have the lock: also when it is dead",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "crash",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.RetryDelay = 4, 10*time.Millisecond }),
		Steps:    []string{"queued"},
		Claims:   but(briefLease, map[string]Claim{"crash": {Breaks, Holds, MayBreak}}),
		Lock:     lock.NewFairQueue, Sale: stock.Locked, docs: []string{"FairQueue", "Locked"},
	},
	{
		Name: "own-duration", Origin: "kubernetes#47671, client-go#445",
		Summary:  "a lease ends for a candidate when its own setting says so, not the holder's",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.Leases = 4, "5s,800ms" }),
		LockSpec: histories.LockSpec{Deadline: true},
		Claims:   everywhere(Claim{Breaks, MayBreak, MayBreak}),
		Lock:     lock.NewOwnDuration, Sale: stock.Attentive, docs: []string{"OwnDuration", "Attentive"},
	},
	{
		Name: "reaped", NoLease: true, Origin: "sidekiq-unique-jobs#488, #517, #580, #738, #779",
		Summary:  "no TTL, and a janitor that deletes locks older than a job should take",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.SKUs = 4 }),
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		Lock:     lock.NewReaped, Sale: stock.Locked, docs: []string{"Reaped", "Locked"},
	},
	{
		Name: "stale-unlock", Origin: "etcd#22082",
		Summary:  "the owner is the session, and a release without an answer is sent again",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "loss",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.Work = 3, "20ms-200ms,3%:65%ttl-85%ttl" }),
		Claims:   blindLease,
		Lock:     lock.NewStaleUnlock, Sale: stock.Locked, docs: []string{"StaleUnlock", "Locked"},
	},
	{
		Name: "presence", NoLease: true, Unreplicated: true, Origin: "portalocker#137",
		Summary:  "who listens on a channel has the lock; the client library listens again by itself",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "cut-connection",
		Defaults: stockService.with(func(s *Spec) { s.SKUs = 4 }),
		// A channel has neither a TTL nor a key that could be thrown away.
		Claims: but(blindLease, map[string]Claim{
			"clock": {MayBreak, Holds, MayBreak},
			"evict": {MayBreak, Holds, MayBreak},
		}),
		Lock: lock.NewPresence, Sale: stock.Locked, docs: []string{"Presence", "Locked"},
	},
	{
		Name: "half-locked", Origin: "eventyay#1359",
		Summary:  "leaves the lock out where it seems safe: for orders of a single unit",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.Qty = 4, "1,50%:2" }),
		Claims:   soldWrong(briefLease, Breaks),
		Lock:     lock.NewRedisLock, Sale: stock.HalfLocked, docs: []string{"RedisLock", "HalfLocked"},
	},
	{
		Name: "two-keys", Origin: "redisson#4050, #467, #1160",
		Summary:  "takes two locks for an order, in no fixed order",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: Spec{
			TTL: 3 * time.Second, Wait: 400 * time.Millisecond, RetryDelay: 20 * time.Millisecond, SKUs: 4,
			Work: "1ms-20ms,15%:50%ttl-70%ttl",
		},
		Claims: waitsForever(briefLease),
		Lock:   lock.NewStockLock, Sale: stock.TwoKeys, docs: []string{"StockLock", "TwoKeys"},
	},
	{
		Name: "fence-write-only", Origin: "texts on fencing tokens",
		Summary:  "the number of the grant is looked at by the write only",
		Topology: onSentinel, StockOn: onOwnOnly, KnownBad: true, CaughtBy: "pause",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.Work = 3, "20ms-200ms,3%:65%ttl-85%ttl" }),
		Marks:    writesOnce,
		LockSpec: histories.LockSpec{Deadline: true, Fenced: true},
		Claims: but(shownLease, map[string]Claim{
			"pause": {MayBreak, Breaks, Breaks},
			"crash": allHold, // write and order are one script
		}),
		Lock: lock.NewFencedRedis, Sale: stock.FenceWriteOnly, docs: []string{"FencedRedis", "FenceWriteOnly"},
	},
	{
		Name: "wrong-key", Origin: "DistributedLock (.NET)#65",
		Summary:  "takes the lock under a prefix, and releases it without",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.TTL = time.Second }),
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		Lock:     lock.NewWrongKey, Sale: stock.Locked, docs: []string{"WrongKey", "Locked"},
	},
	{
		Name: "renew-forever", Renews: true, Origin: "amazon-dynamodb-lock-client#116, redisson#7251",
		Summary:  "a watchdog that the release does not stop",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: renewed, KnownBad: true, CaughtBy: "partition",
		Claims: blindLease,
		Lock:   lock.NewRenewForever, Sale: stock.Locked, docs: []string{"RenewForever", "Locked"},
	},
	{
		Name: "clocked-del", Origin: "what is written where Lua is not at hand",
		Summary:  "the release looks at its own clock, then deletes whatever is there",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "pause",
		Steps: []string{histories.StepBeforeDelete},
		// A busy article: somebody holds its lock at any moment.
		Defaults: stockService.with(func(s *Spec) {
			s.TTL, s.SKUs, s.Retries, s.Work = time.Second, 3, 8, "20ms-60ms,3%:65%ttl-85%ttl"
		}),
		LockSpec: histories.LockSpec{Deadline: true},
		Claims:   but(briefLease, map[string]Claim{"pause": {Breaks, MayBreak, MayBreak}}),
		Lock:     lock.NewClockedDel, Sale: stock.Attentive, docs: []string{"ClockedDel", "Attentive"},
	},
}
