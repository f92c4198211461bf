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

// renewed are settings for locks with a watchdog: some work outlasts the ttl,
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
		Summary:  "SET NX with a ttl of 5 s, 3 retries, compare-and-delete in Lua",
		Topology: onSentinel, on: onOwnOrLock, Defaults: stockService, Claims: blindLease,
		lock: lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "redis-lock-short", Origin: "article 1, pit 1",
		Summary:  "redis-lock with a ttl of 1 s below the working time of up to 3 s",
		Topology: onSentinel, on: onOwnOrLock,
		Defaults: stockService.with(func(s *Spec) { s.TTL, s.Work = time.Second, "1ms-20ms,20%:1500ms-3s" }),
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		lock:     lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "stock-lock", Origin: "article 2",
		Summary:  "SET NX PX 3000, a retry every 5 ms for 100 ms, compare-and-delete in Lua",
		Topology: onSentinel, on: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 5 * time.Millisecond, Wait: 100 * time.Millisecond, Jitter: -1},
		lock:     lock.NewStockLock, sale: stock.Locked, docs: []string{"StockLock", "Locked"},
	},
	{
		Name: "stock-lock-backoff", Origin: "article 2, on hz",
		Summary:  "stock-lock, waiting longer by exponential back-off with jitter",
		Topology: onSentinel, on: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 5 * time.Millisecond, Wait: time.Second, Jitter: time.Second},
		lock:     lock.NewStockLockBackoff, sale: stock.Locked, docs: []string{"StockLockBackoff", "Locked"},
	},
	{
		Name: "spin-lock", Origin: "article 1, §4",
		Summary:  "poll every 10 ms for up to 2 s, behind a queue inside the process",
		Topology: onSentinel, on: onOwnOrLock, Claims: briefLease,
		Defaults: Spec{TTL: 3 * time.Second, RetryDelay: 10 * time.Millisecond, Wait: 2 * time.Second, Jitter: -1, PerHost: 5},
		lock:     lock.NewSpinLock, sale: stock.Locked, docs: []string{"SpinLock", "Locked"},
	},
	{
		Name: "watchdog", Renews: true, Origin: "article 1, pit 1; Redisson",
		Summary:  "a background task renews every ttl/3; a loss is noticed and told",
		Topology: onSentinel, on: onOwnOrLock, Defaults: renewed, Claims: noticedLease,
		Lock: histories.LockSpec{Notice: true},
		lock: lock.NewWatchdog, sale: stock.Attentive, docs: []string{"Watchdog", "Attentive"},
	},
	{
		Name: "pubsub-lock", Renews: true, Origin: "Redisson, named in both articles",
		Summary:  "hash with a hold count, woken by a message, watchdog, no notice of a loss",
		Topology: onSentinel, on: onOwnOrLock, Defaults: renewed, Claims: blindLease,
		Lock: histories.LockSpec{Reentrant: true},
		lock: lock.NewPubSubLock, sale: stock.Locked, docs: []string{"PubSubLock", "Locked"},
	},
	{
		Name: "forgetful", Origin: "article 1, pit 4",
		Summary:  "redis-lock without finally: a refused customer leaves a zombie until the ttl",
		Topology: onSentinel, on: onOwnOrLock, Defaults: stockService, Claims: briefLease,
		lock: lock.NewRedisLock, sale: stock.Forgetful, docs: []string{"RedisLock", "Forgetful"},
	},
	{
		Name: "nested-deadlock", Origin: "article 1, pit 5",
		Summary:  "takes the same key twice: waits for itself and never sells",
		Topology: onSentinel, on: onOwnOrLock, Defaults: stockService, Claims: waitsForever(sellsNothing(briefLease)),
		Marks: []string{"before-release"},
		lock:  lock.NewRedisLock, sale: stock.Nested, docs: []string{"RedisLock", "Nested"},
	},
	{
		Name: "reentrant", Origin: "article 1, pit 5",
		Summary:  "takes the same key twice with a lock that counts",
		Topology: onSentinel, on: onOwnOrLock, Defaults: stockService, Claims: blindLease,
		Lock: histories.LockSpec{Reentrant: true},
		lock: lock.NewReentrant, sale: stock.Nested, docs: []string{"Reentrant", "Nested"},
	},
	{
		Name: "idempotent-lock", Origin: "article 2",
		Summary:  "redis-lock, and a look under the lock whether the order was taken before",
		Topology: onSentinel, on: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.Customers = sellsAgain }),
		lock:     lock.NewRedisLock, sale: stock.Idempotent, docs: []string{"RedisLock", "Idempotent"},
	},
	{
		Name: "two-warehouses", Origin: "article 2",
		Summary:  "own stock and a slow supplier's, both checked and taken under one lock",
		Topology: onSentinel, on: onOwnOnly, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.Retries = 8 }),
		lock:     lock.NewRedisLock, sale: stock.TwoWarehouses, books: warehouseBooks{},
		docs: []string{"RedisLock", "TwoWarehouses"},
	},
	{
		Name: "pipeline", Origin: "article 1, §7",
		Summary:  "local cache, lock, DECRBY with roll-back, queue, consumer that writes to SQL once",
		Topology: env.Topology{Lock: env.Sentinel, SQL: true, Queue: true}, on: onOwnOrLock,
		Defaults: stockService.with(func(s *Spec) { s.PerHost, s.Qty = 5, "1" }),
		Claims:   businessHolds(blindLease),
		lock:     lock.NewRedisLock, sale: stock.Pipeline, idle: stock.Consume, books: pipelineBooks{},
		docs: []string{"RedisLock", "Pipeline"},
	},
}

// grains are redis-lock with different keys.
var grains = []Design{
	{
		Name: "coarse-lock", Origin: "article 1, pit 3",
		Summary:  "redis-lock on a whole category",
		Topology: onSentinel, on: onOwnOrLock, Claims: briefLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey = GrainCategory }),
		lock:     lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "sku-lock", Origin: "article 1, pit 3; article 2",
		Summary:  "redis-lock on one article",
		Topology: onSentinel, on: onOwnOrLock, Claims: blindLease, Defaults: stockService,
		lock: lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
	},
	{
		Name: "user-sku-lock", Origin: "article 1, pit 3",
		Summary:  "redis-lock on customer and article: no second order; the stock is sold by a script",
		Topology: onSentinel, on: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey, s.Customers, s.SKUs = GrainUserSKU, sellsAgain, 3 }),
		Marks:    writesOnce,
		lock:     lock.NewRedisLock, sale: stock.OncePerUser, docs: []string{"RedisLock", "OncePerUser"},
	},
	{
		Name: "segment-lock", Origin: "article 2",
		Summary:  "redis-lock on one of three batches of an article that are on sale side by side",
		Topology: onSentinel, on: onOwnOrLock, Claims: blindLease,
		Defaults: stockService.with(func(s *Spec) { s.LockKey, s.SKUs = GrainSegment, 4 }),
		lock:     lock.NewRedisLock, sale: stock.Locked, docs: []string{"RedisLock", "Locked"},
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
		Topology: onSentinel, on: onLockOrOwn, Marks: []string{"before-write", "before-order"},
		Lock: noLock, Claims: everywhere(Claim{Holds, Holds, Breaks}),
		KnownBad: true, CaughtBy: "none",
		sale: stock.Unlocked, docs: []string{"Unlocked"},
	},
	{
		Name: "decr-rollback", Origin: "article 1, §7",
		Summary:  "no lock: DECRBY, and INCRBY back when below zero",
		Topology: onSentinel, on: onLockOrOwn, Defaults: Spec{Work: "1ms-20ms", Think: busyShop, Qty: "1"},
		Steps: []string{"before-rollback", "before-order"},
		Lock:  noLock,
		Claims: but(noLockOnMaster, map[string]Claim{
			"loss":  {Holds, Holds, MayBreak}, // a roll-back whose answer is lost
			"crash": {Holds, Holds, Breaks},   // between decrement and order, or before the roll-back: units leak
		}),
		sale: stock.Reserve, docs: []string{"Reserve"},
	},
	{
		Name: "lua-stock", Origin: "article 2",
		Summary:  "no lock: check, decrement and order in one Lua script",
		Topology: onSentinel, on: onLockOrOwn, Defaults: Spec{Work: "1ms-20ms", Think: busyShop},
		Marks: []string{"before-write"},
		Lock:  noLock, Claims: noLockOnMaster, Control: true,
		sale: stock.Script, docs: []string{"Script"},
	},
}

// highAvailability are the locks that are to survive a lost server.
var highAvailability = []Design{
	{
		Name: "redlock", Origin: "article 1, pit 2",
		Summary:  "a majority of 5 (or 3) independent servers, and a deadline that is shown",
		Topology: env.Topology{Lock: env.Independent5}, on: onOwnOnly, Defaults: stockService,
		Lock: histories.LockSpec{Deadline: true}, Claims: ofMajority,
		lock: lock.NewRedlock, sale: stock.Attentive, docs: []string{"Redlock", "Attentive"},
	},
	{
		Name: "wait-lock", Origin: "article 2", Waits: true,
		Summary:  "SET NX on a replicated master, then WAIT; too few acknowledgements: not acquired",
		Topology: onSentinel, on: onOwnOrLock, Defaults: stockService,
		Claims: but(blindLease, map[string]Claim{
			// A replica that has not acknowledged may be promoted; but then
			// nothing is granted until another one follows it.
			"failover": {MayBreak, Holds, MayBreak},
		}),
		lock: lock.NewWaitLock, sale: stock.Locked, docs: []string{"WaitLock", "Locked"},
	},
	{
		Name: "cluster-lock", Origin: "article 2", Waits: true,
		Summary:  "wait-lock on a Redis Cluster of three masters with a replica each",
		Topology: env.Topology{Lock: env.RedisCluster}, on: onOwnOnly, Defaults: stockService,
		Claims: but(blindLease, map[string]Claim{
			"failover": allHold,                     // each master has one replica, and a grant waits for it
			"restart":  {MayBreak, Holds, MayBreak}, // one of three masters
			"clock":    {MayBreak, Holds, MayBreak},
			"evict":    {MayBreak, Holds, MayBreak},
		}),
		lock: lock.NewWaitLock, sale: stock.Locked, docs: []string{"WaitLock", "Locked"},
	},
}
