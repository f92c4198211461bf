package clustertest

import (
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

var (
	locks     = []string{"redis-1", "redis-2", "redis-3"}
	sentinels = []string{"sentinel-1", "sentinel-2", "sentinel-3"}
	firstTwo  = []string{"worker-0", "worker-1"} // share a process
	lastTwo   = []string{"worker-2", "worker-3"}
	everybody = append(append(append([]string{}, locks...), sentinels...), append(append([]string{}, firstTwo...), lastTwo...)...)
)

func names(list ...string) []string { return list }

// cases is the script, by the lock service that it needs.
var cases = map[env.Kind][]scripted{
	env.Sentinel: append([]scripted{
		// Whom a fault of a worker's process names: all its workers.
		{name: "kill a worker's process", fault: histories.Fault{F: histories.Kill, Targets: names("worker-1")}, targets: firstTwo,
			quiet: []int{0, 1}, idle: []int{0, 1}, works: []int{2, 3},
			end: histories.Fault{F: histories.Start, Targets: names("worker-0")}, ends: firstTwo},
		{name: "crash now", fault: histories.Fault{F: histories.Crash, Targets: names("worker-2")}, targets: lastTwo,
			quiet: []int{2, 3}, works: []int{0, 1},
			end: histories.Fault{F: histories.Start, Targets: names(histories.RoleOtherWorkers)}, ends: lastTwo},
		{name: "pause a worker's process", fault: histories.Fault{F: histories.Pause, Targets: names("worker-3")}, targets: lastTwo,
			quiet: []int{2, 3}, idle: []int{2, 3}, works: []int{0, 1},
			end: histories.Fault{F: histories.Resume, Targets: names("worker-2")}, ends: lastTwo},
		{name: "skew a worker's clock", fault: histories.Fault{F: histories.Skew, Targets: names("worker-1"), Offset: time.Hour}, targets: firstTwo,
			end: histories.Fault{F: histories.Heal}},

		// What concerns a part of a worker, or a step of its, names it alone.
		{name: "pause renewals", fault: histories.Fault{F: histories.Pause, Targets: names("worker-1"), Step: histories.StepRenewal}, targets: names("worker-1"),
			quiet: []int{1}, ticks: []int{0}, works: []int{0, 1},
			end: histories.Fault{F: histories.Resume, Targets: names("worker-1"), Step: histories.StepRenewal}, ends: names("worker-1")},
		{name: "pause work", fault: histories.Fault{F: histories.Pause, Targets: names("worker-2"), Step: histories.StepWork}, targets: names("worker-2"),
			idle: []int{2}, ticks: []int{2, 3}, works: []int{3},
			end: histories.Fault{F: histories.Resume, Targets: names("worker-2"), Step: histories.StepWork}, ends: names("worker-2")},
		{name: "a resume ends all pauses", fault: histories.Fault{F: histories.Pause, Targets: names("worker-2"), Step: histories.StepWork}, targets: names("worker-2"),
			idle: []int{2},
			end:  histories.Fault{F: histories.Resume, Targets: names("worker-3")}, ends: lastTwo},
		{name: "delay a step", fault: histories.Fault{F: histories.Delay, Targets: names("worker-1"), Step: histories.StepBeforeWrite, For: 2 * time.Second}, targets: names("worker-1"),
			idle: []int{1}, works: []int{0}, ticks: []int{1},
			end: histories.Fault{F: histories.Heal}, unsaid: true},

		// What waits for a worker strikes it when it comes.
		{name: "pause at a step", fault: histories.Fault{F: histories.Pause, Targets: names("worker-1"), Step: histories.StepBeforeWrite, For: 5 * time.Second}, targets: firstTwo,
			quiet: []int{0, 1}, works: []int{2, 3},
			end: histories.Fault{F: histories.Resume, Targets: names("worker-1")}, ends: firstTwo},
		{name: "crash at a step", fault: histories.Fault{F: histories.Crash, Targets: names("worker-3"), Step: histories.StepBeforeWrite},
			mark:  &histories.Event{F: histories.Kill, Targets: lastTwo, Note: "crash at " + histories.StepBeforeWrite},
			quiet: []int{2, 3}, works: []int{0, 1},
			end: histories.Fault{F: histories.Start, Targets: names("worker-3")}, ends: lastTwo},
		{name: "lose a reply", fault: histories.Fault{F: histories.Loss, Targets: names("worker-0"), Step: histories.Acquire},
			mark: &histories.Event{F: histories.Loss, Targets: names("worker-0")}},

		// Links.
		{name: "cut targets off everybody", fault: histories.Fault{F: histories.Partition, Targets: names("worker-2")}, targets: everybody,
			idle: []int{2, 3}, works: []int{0, 1}, ticks: []int{2, 3},
			end: histories.Fault{F: histories.Heal, From: names("worker-2")}, ends: everybody},
		{name: "cut between", fault: histories.Fault{F: histories.Partition, From: names(histories.RoleHalfWorkers), To: names(histories.RoleLocks)},
			targets: append(append([]string{}, locks...), firstTwo...), idle: []int{0, 1}, works: []int{2, 3},
			end: histories.Fault{F: histories.Heal, From: names(histories.RoleHalfWorkers), To: names(histories.RoleLocks)}, ends: append(append([]string{}, locks...), firstTwo...)},
		{name: "cut servers", fault: histories.Fault{F: histories.Partition, From: names(histories.RoleMaster), To: names(histories.RoleReplicas)}, targets: locks,
			works: []int{0, 1, 2, 3},
			end:   histories.Fault{F: histories.Heal, From: names(histories.RoleMaster), To: names(histories.RoleReplicas)}, ends: locks},
		{name: "a loss that does not say of how much loses all", fault: histories.Fault{F: histories.Loss, From: names(histories.RoleLocks), To: names(histories.RoleOtherWorkers), OneWay: true},
			targets: append(append([]string{}, locks...), lastTwo...), idle: []int{2, 3}, works: []int{0, 1},
			end: histories.Fault{F: histories.Heal}},
		{name: "cut connections", fault: histories.Fault{F: histories.Kill, Targets: names(histories.RoleLocks), To: names("worker-1"), Mode: histories.ModeConnection}, targets: locks,
			works: []int{0, 1, 2, 3}},

		// Servers.
		{name: "kill a replica's machine", fault: histories.Fault{F: histories.Kill, Targets: names(histories.RoleOneReplica)}, targets: names("redis-2"),
			end: histories.Fault{F: histories.Start, Targets: names("redis-2")}, ends: names("redis-2")},
		{name: "kill a sentinel's process", fault: histories.Fault{F: histories.Kill, Targets: names(histories.RoleOneSentinel), Mode: histories.ModeProcess}, targets: names("sentinel-1"),
			end: histories.Fault{F: histories.Start, Targets: names("sentinel-1")}, ends: names("sentinel-1")},
		{name: "pause a replica", fault: histories.Fault{F: histories.Pause, Targets: names(histories.RoleOtherReplicas)}, targets: names("redis-3"),
			end: histories.Fault{F: histories.Resume, Targets: names("redis-3")}, ends: names("redis-3")},
		{name: "skew the server of a key", fault: histories.Fault{F: histories.Skew, Targets: names(histories.KeyRole("lock-1")), Offset: time.Hour}, targets: names("redis-1"),
			end: histories.Fault{F: histories.Heal}},
		{name: "evict a share", fault: histories.Fault{F: histories.Evict, Targets: names(histories.RoleMaster), Rate: 1}, targets: names("redis-1"),
			end: histories.Fault{F: histories.Heal}, unsaid: true},
		{name: "switch over", fault: histories.Fault{F: histories.Failover, Targets: names(histories.RoleMaster)}, targets: names("redis-1"),
			end: histories.Fault{F: histories.Resume, Targets: names(histories.RoleOldMaster)}, ends: names("redis-1"), unsaid: true},
	}, refused...),

	// Three masters share the keys of a Redis Cluster: "master" is all of them, or
	// one for what hits one.
	env.RedisCluster: {
		{name: "skew every master", fault: histories.Fault{F: histories.Skew, Targets: names(histories.RoleMaster), Offset: time.Hour}, targets: locks,
			end: histories.Fault{F: histories.Heal}},
		{name: "cut every master off the replicas", fault: histories.Fault{F: histories.Partition, From: names(histories.RoleMaster), To: names(histories.RoleReplicas)},
			targets: names("redis-1", "redis-2", "redis-3", "redis-4", "redis-5", "redis-6"),
			end:     histories.Fault{F: histories.Heal}},
		{name: "kill one master", fault: histories.Fault{F: histories.Kill, Targets: names(histories.RoleMaster), Mode: histories.ModeProcess}, targets: locks, oneOf: true,
			end: histories.Fault{F: histories.Start, Targets: names(histories.RoleOldMaster)}},
	},
}

// refused are faults that no cluster plays.
var refused = []scripted{
	{name: "no such fault", fault: histories.Fault{F: "flood", Targets: names("redis-1")}, refused: true},
	{name: "no such server", fault: histories.Fault{F: histories.Kill, Targets: names("redis-9")}, refused: true},
	{name: "no such worker", fault: histories.Fault{F: histories.Kill, Targets: names("worker-9")}, refused: true},
	{name: "no such kind of server", fault: histories.Fault{F: histories.Kill, Targets: names(histories.RoleSQL)}, refused: true},
	{name: "nobody", fault: histories.Fault{F: histories.Kill}, refused: true},
	{name: "a delay of no step", fault: histories.Fault{F: histories.Delay, Targets: names("worker-0"), For: time.Second}, refused: true},
	{name: "a delay of a server", fault: histories.Fault{F: histories.Delay, Targets: names("redis-1"), Step: histories.StepCommit, For: time.Second}, refused: true},
	{name: "a crash of a server", fault: histories.Fault{F: histories.Crash, Targets: names("redis-1")}, refused: true},
	{name: "an eviction from a worker", fault: histories.Fault{F: histories.Evict, Targets: names("worker-0")}, refused: true},
	{name: "an eviction from a sentinel", fault: histories.Fault{F: histories.Evict, Targets: names(histories.RoleOneSentinel)}, refused: true},
	{name: "a failover of a worker", fault: histories.Fault{F: histories.Failover, Targets: names("worker-0")}, refused: true},
	{name: "a cut between workers", fault: histories.Fault{F: histories.Partition, From: names(histories.RoleHalfWorkers), To: names(histories.RoleOtherWorkers)}, refused: true},
	{name: "a skew of nothing", fault: histories.Fault{F: histories.Skew, Targets: names("redis-1")}, refused: true},
	{name: "a rate above 1", fault: histories.Fault{F: histories.Loss, From: names("redis-1"), Rate: 2}, refused: true},
	{name: "a reply to no operation", fault: histories.Fault{F: histories.Loss, Targets: names("worker-0"), Step: histories.StepCommit}, refused: true},
	{name: "a mode that there is not", fault: histories.Fault{F: histories.Kill, Targets: names("redis-1"), Mode: "gently"}, refused: true},
	{name: "a healing of somebody", fault: histories.Fault{F: histories.Heal, Targets: names("redis-1")}, refused: true},
}
