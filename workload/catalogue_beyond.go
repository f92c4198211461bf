package workload

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
	"github.com/lockcheck/lockcheck/workload/stock"
)

// sqlWork is shorter than a statement's time-out, for work inside a
// transaction makes others wait for its row.
const sqlWork = "1ms-20ms,5%:250ms-500ms"

// inSQL sell in a database, without any lock but the database's own.
var inSQL = []Design{
	{
		Name: "row-lock", Origin: "both articles",
		Summary:  "SELECT … FOR UPDATE as the first statement of the transaction",
		Topology: env.Topology{SQL: true}, StockOn: onSQLOnly, Defaults: Spec{Work: sqlWork},
		Steps:    []string{histories.StepCommit},
		LockSpec: noLock, Claims: everywhere(allHold), Control: true,
		Sale: stock.RowLock, docs: []string{"RowLock"},
	},
	{
		Name: "version-lock", Origin: "article 2",
		Summary:  "a version column, and a write that names the version it was worked out from",
		Topology: env.Topology{SQL: true}, StockOn: onSQLOnly, Defaults: Spec{Work: sqlWork},
		Steps:    []string{histories.StepCommit},
		LockSpec: noLock, Claims: everywhere(allHold), Control: true,
		Sale: stock.VersionLock, docs: []string{"VersionLock"},
	},
	{
		Name: "conditional-update", Origin: "beyond the articles",
		Summary:  "UPDATE … WHERE stock >= n and a unique order id in one transaction",
		Topology: env.Topology{SQL: true}, StockOn: onSQLOnly, Defaults: Spec{Work: "1ms-20ms", Think: busyShop, Customers: sellsAgain},
		Steps:    []string{histories.StepCommit},
		LockSpec: noLock, Claims: everywhere(allHold), Control: true,
		Sale: stock.Conditional, Books: sqlBooks{orders: "orders_once"}, docs: []string{"Conditional"},
	},
}

// Marks of sales that write and append their order at once: by one script, or
// by a transaction.
var (
	writesOnce       = []string{histories.StepBeforeWrite, histories.StepBeforeRelease}
	commitsUnderLock = []string{histories.StepBeforeWrite, histories.StepCommit, histories.StepBeforeRelease}
)

// beyond the articles: locks that need not be right.
var beyond = []Design{
	{
		Name: "lease-aware", Origin: "the control of ttl-no-fence",
		Summary:  "a lock with a deadline that is looked at, and a write on condition",
		Topology: onSentinel, StockOn: onOwnOnly, Defaults: stockService,
		Marks:    writesOnce,
		LockSpec: histories.LockSpec{Deadline: true}, Control: true,
		// A worker that is frozen between its look and its write writes late if
		// nobody has sold meanwhile: stale, and harmless.
		Claims: but(businessHolds(shownLease), map[string]Claim{"pause": {MayBreak, MayBreak, Holds}}),
		Lock:   lock.NewDeadlined, Sale: stock.Careful, docs: []string{"Deadlined", "Careful"},
	},
	{
		Name: "fenced-redis", Origin: "beyond the articles",
		Summary:  "grants carry a number from INCR on the lock's master; the store refuses smaller ones",
		Topology: onSentinel, StockOn: onOwnOnly, Defaults: stockService, Marks: writesOnce,
		LockSpec: histories.LockSpec{Deadline: true, Fenced: true},
		Claims: but(shownLease, map[string]Claim{
			"clock": {Breaks, Holds, Holds}, // leases end early, numbers go on
			"loss":  {MayBreak, Holds, Holds},
			"crash": allHold, // write and order are one script
		}),
		Lock: lock.NewFencedRedis, Sale: stock.Fenced, docs: []string{"FencedRedis", "Fenced"},
	},
	{
		Name: "fenced", Origin: "beyond the articles",
		Summary:  "grants carry a number from a SQL row; the stock's transaction takes only the last one",
		Topology: env.Topology{Lock: env.Sentinel, SQL: true}, StockOn: onSQLOnly, Defaults: stockService,
		Marks:    commitsUnderLock,
		LockSpec: histories.LockSpec{Deadline: true, Fenced: true}, Claims: businessHolds(shownLease), Control: true,
		Lock: lock.NewFencedSQL, Sale: stock.FencedByRow, docs: []string{"FencedSQL", "FencedByRow"},
	},
}

// knownBad are wrong on purpose: each is a bug report, and each must be
// caught by the nemesis that it names.
var knownBad = []Design{
	{
		Name: "setnx-expire", Origin: "laravel/horizon#1738, ShedLock#65, redis-py#818",
		Summary:  "SETNX and EXPIRE are two commands: a crash between them leaves the key forever",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "crash",
		Steps:  []string{histories.StepBeforeExpire},
		Claims: but(blindLease, map[string]Claim{"crash": {Breaks, Holds, MayBreak}}),
		Lock:   lock.NewSetnxExpire, Sale: stock.Locked, docs: []string{"SetnxExpire", "Locked"},
	},
	{
		Name: "del-any", Origin: "laravel/framework#26213 and others",
		Summary:  "constant value, plain DEL: the late finisher frees the next one's lock",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "pause",
		Claims: blindLease,
		Lock:   lock.NewDelAny, Sale: stock.Locked, docs: []string{"DelAny", "Locked"},
	},
	{
		Name: "get-then-del", Origin: "article 2, and many libraries",
		Summary:  "the release compares and deletes in two commands",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "pause",
		Steps: []string{histories.StepBeforeDelete},
		// A busy article: somebody holds its lock at any moment.
		Defaults: stockService.with(func(s *Spec) {
			s.TTL, s.SKUs, s.Retries, s.Work = time.Second, 3, 8, "20ms-60ms,3%:65%ttl-85%ttl"
		}),
		Claims: briefLease,
		Lock:   lock.NewGetThenDel, Sale: stock.Locked, docs: []string{"GetThenDel", "Locked"},
	},
	{
		Name: "ttl-no-fence", Origin: "besthub.dev's flash sale, etcd#10811",
		Summary:  "a correct lease whose end is shown and never looked at, and an absolute write",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "pause",
		LockSpec: histories.LockSpec{Deadline: true},
		Claims: but(shownLease, map[string]Claim{
			"pause":     {MayBreak, Breaks, Breaks},
			"failover":  {Breaks, MayBreak, MayBreak},
			"kill":      {MayBreak, MayBreak, MayBreak},
			"partition": {MayBreak, MayBreak, MayBreak},
		}),
		Lock: lock.NewDeadlined, Sale: stock.Overwriting, docs: []string{"Deadlined", "Overwriting"},
	},
	{
		Name: "renew-resurrect", Origin: "redis-semaphore#175, redlock-rb#36",
		Summary:  "a renewal that takes the lock again when it has gone",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "pause",
		LockSpec: histories.LockSpec{Deadline: true},
		Claims: but(shownLease, map[string]Claim{
			"pause": {Breaks, MayBreak, MayBreak},
			"clock": {Breaks, MayBreak, MayBreak},
		}),
		Lock: lock.NewRenewResurrect, Sale: stock.Renewing, docs: []string{"RenewResurrect", "Renewing"},
	},
	{
		Name: "renew-blind", Renews: true, Origin: "redisson#775, #5698, and others",
		Summary:  "a watchdog that gives up at the first error and says nothing",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: renewed, KnownBad: true, CaughtBy: "pause",
		Claims: blindLease,
		Lock:   lock.NewRenewBlind, Sale: stock.Locked, docs: []string{"RenewBlind", "Locked"},
	},
	{
		Name: "async-failover", Waits: true, Origin: "redisson#3994, redis#6062",
		Summary:  "SET NX and WAIT, whose answer nobody looks at",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "failover",
		Claims: blindLease,
		Lock:   lock.NewAsyncFailover, Sale: stock.Locked, docs: []string{"AsyncFailover", "Locked"},
	},
	{
		Name: "client-clock", Origin: "errorception/redis-lock#3",
		Summary:  "the value is a deadline by the owner's wall clock, judged by everybody else's",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "clock",
		Claims: but(blindLease, map[string]Claim{"none": {MayBreak, Holds, MayBreak}}), // two may find one key expired
		Lock:   lock.NewClientClock, Sale: stock.Locked, docs: []string{"ClientClock", "Locked"},
	},
	{
		Name: "retry-blind", Renews: true, Origin: "redisson#7367, go-redis#2985",
		Summary:  "a client library that sends requests again: they count twice",
		Topology: onSentinel, StockOn: onLockOnly, Defaults: renewed, KnownBad: true, CaughtBy: "loss",
		LockSpec: histories.LockSpec{Reentrant: true},
		Claims: but(blindLease, map[string]Claim{
			"loss":    {MayBreak, Holds, Breaks}, // a lost answer to a decrement is surer than one to an acquire
			"restart": {MayBreak, Holds, Breaks}, // the stock is on the lock's master: nothing is left to be locked for
			"crash":   {MayBreak, Holds, MayBreak},
		}),
		Lock: lock.NewRetryBlind, Sale: stock.RetryBlind, docs: []string{"RetryBlind"},
	},
	{
		Name: "unlock-before-commit", Origin: "redisson#2183",
		Summary:  "the lock is released inside the transaction, before it commits",
		Topology: env.Topology{Lock: env.Sentinel, SQL: true}, StockOn: onSQLOnly, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.Work, s.SKUs = sqlWork, 4 }),
		Claims: soldWrong(but(briefLease, map[string]Claim{ // its holds are short
			"clock":   {MayBreak, Holds, MayBreak},
			"restart": {MayBreak, Holds, MayBreak},
			"evict":   {MayBreak, Holds, MayBreak},
		}), Breaks),
		Marks: []string{histories.StepCommit, histories.StepBeforeRelease},
		Lock:  lock.NewStockLock, Sale: stock.UnlockBeforeCommit, docs: []string{"StockLock", "UnlockBeforeCommit"},
	},
	{
		Name: "shared-owner", Origin: "redisson#4724, aredis#119",
		Summary:  "a re-entrant lock whose owner is the host: its workers all enter",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.PerHost = 5 }),
		LockSpec: histories.LockSpec{Reentrant: true},
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		Lock:     lock.NewSharedOwner, Sale: stock.Locked, docs: []string{"SharedOwner", "Locked"},
	},
	{
		Name: "fail-open", Origin: "reviews of Truxify#2950 and autumn#2593",
		Summary:  "when Redis does not answer, it goes on without the lock",
		Topology: onSentinel, StockOn: onOwnOrLock, Defaults: stockService, KnownBad: true, CaughtBy: "partition",
		Claims: but(blindLease, map[string]Claim{"partition": {Breaks, Holds, MayBreak}}),
		Lock:   lock.NewFailOpen, Sale: stock.Locked, docs: []string{"FailOpen", "Locked"},
	},
	{
		Name: "redlock-forgetful", Origin: "redlock-py#3, redsync#37, redis#1297",
		Summary:  "redlock with the drift added to its deadline, on servers that keep nothing",
		Topology: env.Topology{Lock: env.Independent5}, StockOn: onOwnOnly, KnownBad: true, CaughtBy: "restart",
		Defaults: stockService.with(func(s *Spec) { s.Drift = 0.1 }),
		LockSpec: histories.LockSpec{Deadline: true},
		// Wherever a lease ends by itself, its worker believes for a while longer.
		Claims: but(everywhere(Claim{MayBreak, Holds, MayBreak}), map[string]Claim{
			"none":    allHold,                      // no lease ends by itself
			"pause":   {MayBreak, Breaks, MayBreak}, // between the look at the deadline and the write
			"restart": {Breaks, Holds, MayBreak},
			"clock":   {Breaks, Holds, MayBreak},
		}),
		Lock: lock.NewRedlockForgetful, Sale: stock.Attentive, docs: []string{"RedlockForgetful", "Attentive"},
	},
	{
		Name: "read-before-lock", Origin: "shopware#19943",
		Summary:  "looks at order and stock, then waits for the lock, then sells by what it saw",
		Topology: onSentinel, StockOn: onOwnOrLock, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.SKUs, s.Customers, s.Retries = 4, sellsAgain, 8 }),
		Claims:   soldWrong(briefLease, Holds),
		Lock:     lock.NewRedisLock, Sale: stock.ReadBeforeLock, docs: []string{"RedisLock", "ReadBeforeLock"},
	},
	{
		Name: "replica-read", Origin: "redis#6062",
		Summary:  "reads the stock from a replica under a good lock, and sets what it worked out",
		Topology: onSentinel, StockOn: onLockOnly, Defaults: stockService, KnownBad: true, CaughtBy: "failover",
		Claims: but(blindLease, map[string]Claim{
			"none":     {Holds, Holds, MayBreak},  // when the next buyer is quicker than the replication
			"failover": {Breaks, Holds, Breaks},   // the replicas are cut off before
			"restart":  {MayBreak, Holds, Breaks}, // the stock is on the lock's master: nothing is left to be locked for
		}),
		Lock: lock.NewRedisLock, Sale: stock.ReplicaRead, docs: []string{"RedisLock", "ReplicaRead"},
	},
	{
		Name: "get-lock-pool", NoLease: true, Origin: "MySQL's GET_LOCK behind a pool of connections",
		Summary:  "GET_LOCK and RELEASE_LOCK on whichever connection is free",
		Topology: env.Topology{SQL: true}, StockOn: onSQLOnly, KnownBad: true, CaughtBy: "none",
		Defaults: stockService.with(func(s *Spec) { s.Work, s.PerHost, s.SKUs = sqlWork, 5, 4 }),
		Claims:   everywhere(Claim{Breaks, Holds, MayBreak}),
		Marks:    commitsUnderLock,
		Lock:     lock.NewGetLockPool, Sale: stock.Pooled, docs: []string{"GetLockPool", "Pooled"},
	},
}
