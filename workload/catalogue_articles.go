package workload

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// stockService are the settings that the first article's stock service gives
// its lock.
var stockService = Spec{
	TTL: 5 * time.Second, Retries: 3, RetryDelay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond,
}

// renewed are settings for locks with a watchdog: some work outlasts the TTL,
// which is what renewal is for.
var renewed = Spec{
	TTL: 3 * time.Second, Retries: 3, RetryDelay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond,
	Work: "1ms-20ms,3%:100%ttl-200%ttl",
}

// with is a Spec with some fields set over another.
func (s Spec) with(change func(*Spec)) Spec {
	change(&s)
	return s
}

// sellsAgain makes the same customers come again.
const sellsAgain = 8

// ofArticles are the lease locks of both articles.
var ofArticles = []Design{
	{
		Name: "redis-lock", Origin: "article 1, §3",
		Summary:  "SET NX with a TTL of 5 s, 3 retries, compare-and-delete in Lua",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, Claims: blindLease,
		Lock: lock.NewRedisLock, Sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "redis-lock-short", Origin: "article 1, pit 1",
		Summary:  "redis-lock with a TTL of 1 s below the working time of up to 3 s",
		Topology: onSentinel, StockOn: onOwnOrLock,
		Defaults: stockService.with(func(s *Spec) { s.TTL, s.Work = time.Second, "1ms-20ms,20%:1500ms-3s" }),
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		Lock:     lock.NewRedisLock, Sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "stock-lock", Origin: "article 2",
		Summary:  "SET NX PX 3000, a retry every 5 ms for 100 ms, compare-and-delete in Lua",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 5 * time.Millisecond, Wait: 100 * time.Millisecond, Jitter: -1},
		Lock:     lock.NewStockLock, Sale: stock.Locked, docs: []string{"StockLock", "Locked"},
	},
	{
		Name: "stock-lock-backoff", Origin: "article 2, on hz",
		Summary:  "stock-lock, waiting longer by exponential back-off with jitter",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 5 * time.Millisecond, Wait: time.Second, Jitter: time.Second},
		Lock:     lock.NewStockLockBackoff, Sale: stock.Locked, docs: []string{"StockLockBackoff", "Locked"},
	},
	{
		Name: "spin-lock", Origin: "article 1, §4",
		Summary:  "poll every 10 ms for up to 2 s, behind a queue inside the process",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 10 * time.Millisecond, Wait: 2 * time.Second, Jitter: -1, PerHost: 5},
		Lock:     lock.NewSpinLock, Sale: stock.Locked, docs: []string{"SpinLock", "Locked"},
	},
	{
		Name: "watchdog", Renews: true, Origin: "article 1, pit 1; Redisson",
		Summary:  "a background task renews every TTL/3; a loss is noticed and told",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: renewed, Claims: noticedLease,
		LockSpec: histories.LockSpec{Notice: true},
		Lock:     lock.NewWatchdog, Sale: stock.Attentive, docs: []string{"Watchdog", "Attentive"},
	},
	{
		Name: "pubsub-lock", Renews: true, Origin: "Redisson, named in both articles",
		Summary:  "hash with a hold count, woken by a message, watchdog, no notice of a loss",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: renewed, Claims: blindLease,
		LockSpec: histories.LockSpec{Reentrant: true},
		Lock:     lock.NewPubSubLock, Sale: stock.Locked, docs: []string{"PubSubLock", "Locked"},
	},
	{
		Name: "forgetful", Origin: "article 1, pit 4",
		Summary:  "redis-lock without finally: a refused customer leaves a zombie until the TTL",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, Claims: briefLease,
		Lock: lock.NewRedisLock, Sale: stock.Forgetful, docs: []string{"RedisLock", "Forgetful"},
	},
	{
		Name: "nested-deadlock", Origin: "article 1, pit 5",
		Summary:  "takes the same key twice: waits for itself and never sells",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, Claims: waitsForever(sellsNothing(briefLease)),
		Marks: []string{histories.StepBeforeRelease},
		Lock:  lock.NewRedisLock, Sale: stock.Nested, docs: []string{"RedisLock", "Nested"},
	},
	{
		Name: "reentrant", Origin: "article 1, pit 5",
		Summary:  "takes the same key twice with a lock that counts",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, Claims: blindLease,
		LockSpec: histories.LockSpec{Reentrant: true},
		Lock:     lock.NewReentrant, Sale: stock.Nested, docs: []string{"Reentrant", "Nested"},
	},
	{
		Name: "idempotent-lock", Origin: "article 2",
		Summary:  "redis-lock, and a look under the lock whether the order was taken before",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.Customers = sellsAgain }),
		Lock:     lock.NewRedisLock, Sale: stock.Idempotent, docs: []string{"RedisLock", "Idempotent"},
	},
	{
		Name: "two-warehouses", Origin: "article 2",
		Summary:  "own stock and a slow supplier's, both checked and taken under one lock",
		Topology: onSentinel, StockOn: onOwnOnly, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.Retries = 8 }),
		Lock:     lock.NewRedisLock, Sale: stock.TwoWarehouses, Books: warehouseBooks{},
		docs: []string{"RedisLock", "TwoWarehouses"},
	},
	{
		Name: "pipeline", Origin: "article 1, §7",
		Summary:  "local cache, lock, DECRBY with roll-back, queue, consumer that writes to SQL once",
		Topology: env.Topology{Lock: env.Sentinel, SQL: true, Queue: true}, StockOn: onOwnOrLock,
		Defaults: stockService.with(func(s *Spec) { s.PerHost, s.Qty = 5, "1" }),
		Claims:   businessHolds(blindLease),
		Lock:     lock.NewRedisLock, Sale: stock.Pipeline, Idle: stock.Consume, Books: pipelineBooks{},
		docs: []string{"RedisLock", "Pipeline"},
	},
}

// grains are redis-lock with different keys.
var grains = []Design{
	{
		Name: "coarse-lock", Origin: "article 1, pit 3",
		Summary:  "redis-lock on a whole category",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: briefLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey = GrainCategory }),
		Lock:     lock.NewRedisLock, Sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "sku-lock", Origin: "article 1, pit 3; article 2",
		Summary:  "redis-lock on one article",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: blindLease, Defaults: stockService,
		Lock: lock.NewRedisLock, Sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "user-sku-lock", Origin: "article 1, pit 3",
		Summary:  "redis-lock on customer and article: no second order; the stock is sold by a script",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey, s.Customers, s.SKUs = GrainUserSKU, sellsAgain, 3 }),
		Marks:    writesOnce,
		Lock:     lock.NewRedisLock, Sale: stock.OncePerUser, docs: []string{"RedisLock", "OncePerUser"},
	},
	{
		Name: "segment-lock", Origin: "article 2",
		Summary:  "redis-lock on one of three batches of an article that are on sale side by side",
		Topology: onSentinel, StockOn: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey, s.SKUs = GrainSegment, 4 }),
		Lock:     lock.NewRedisLock, Sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
}

// busyShop is a pause between purchases for designs that never wait: their
// histories would be ten times as long as the others' and say no more.
const busyShop = "20ms-100ms"

// lockFree sell without a lock, all steps on the master of a Redis.
var lockFree = []Design{
	{
		Name: "none", Origin: "article 1, §1",
		Summary:  "no lock: read, check, work, DECRBY",
		Topology: onSentinel, StockOn: onLockOrOwn, Marks: []string{histories.StepBeforeWrite, histories.StepBeforeOrder},
		LockSpec: noLock, Claims: everywhere(Claim{Holds, Holds, Breaks}),
		KnownBad: true, CaughtBy: "none",
		Sale: stock.Unlocked, docs: []string{"Unlocked"},
	},
	{
		Name: "decr-rollback", Origin: "article 1, §7",
		Summary:  "no lock: DECRBY, and INCRBY back when below zero",
		Topology: onSentinel, StockOn: onLockOrOwn, Defaults: Spec{Work: "1ms-20ms", Think: busyShop, Qty: "1"},
		Steps:    []string{histories.StepBeforeRollback, histories.StepBeforeOrder},
		LockSpec: noLock,
		Claims: but(noLockOnMaster, map[string]Claim{
			"loss":  {Holds, Holds, MayBreak}, // a roll-back whose answer is lost
			"crash": {Holds, Holds, Breaks},   // between decrement and order, or before the roll-back: units leak
		}),
		Sale: stock.Reserve, docs: []string{"Reserve"},
	},
	{
		Name: "lua-stock", Origin: "article 2",
		Summary:  "no lock: check, decrement and order in one Lua script",
		Topology: onSentinel, StockOn: onLockOrOwn, Defaults: Spec{Work: "1ms-20ms", Think: busyShop},
		Marks:    []string{histories.StepBeforeWrite},
		LockSpec: noLock, Claims: noLockOnMaster, Control: true,
		Sale: stock.Script, docs: []string{"Script"},
	},
}

// highAvailability are the locks that are to survive a lost server.
var highAvailability = []Design{
	{
		Name: "redlock", Origin: "article 1, pit 2",
		Summary:  "a majority of 5 (or 3) independent servers, and a deadline that is shown",
		Topology: env.Topology{Lock: env.Independent5}, StockOn: onOwnOnly, Defaults: stockService,
		LockSpec: histories.LockSpec{Deadline: true}, Claims: ofMajority,
		Lock: lock.NewRedlock, Sale: stock.Attentive, docs: []string{"Redlock", "Attentive"},
	},
	{
		Name: "wait-lock", Origin: "article 2", Waits: true,
		Summary:  "SET NX on a replicated master, then WAIT; too few acknowledgements: not acquired",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService,
		Claims: but(blindLease, map[string]Claim{
			// A replica that has not acknowledged may be promoted; but then
			// nothing is granted until another one follows it.
			"failover": {MayBreak, Holds, MayBreak},
		}),
		Lock: lock.NewWaitLock, Sale: stock.Locked, docs: []string{"WaitLock", "Locked"},
	},
	{
		Name: "cluster-lock", Origin: "article 2", Waits: true,
		Summary:  "wait-lock on a Redis Cluster of three masters with a replica each",
		Topology: env.Topology{Lock: env.RedisCluster}, StockOn: onOwnOnly, Defaults: stockService,
		Claims: but(blindLease, map[string]Claim{
			"failover": allHold,                     // each master has one replica, and a grant waits for it
			"restart":  {MayBreak, Holds, MayBreak}, // one of three masters
			"clock":    {MayBreak, Holds, MayBreak},
			"evict":    {MayBreak, Holds, MayBreak},
		}),
		Lock: lock.NewWaitLock, Sale: stock.Locked, docs: []string{"WaitLock", "Locked"},
	},
}
