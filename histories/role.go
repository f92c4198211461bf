package histories

import (
	"slices"
	"strings"
)

// The roles that stand for targets. Roles has what each means.
const (
	RoleMaster         = "master"     // every server that takes writes; of independent servers the first
	RoleOldMaster      = "old-master" // the one that a fault last found as master
	RoleReplicas       = "replicas"
	RoleOneReplica     = "one-replica"    // the first
	RoleOtherReplicas  = "other-replicas" // the rest
	RoleLocks          = "locks"          // every server of the lock service, sentinels excepted
	RoleSentinels      = "sentinels"
	RoleOneSentinel    = "one-sentinel"
	RoleOtherSentinels = "other-sentinels"
	RoleWorkers        = "workers"
	RoleHalfWorkers    = "half-workers"  // the first half of the processes, of an odd number the larger
	RoleOtherWorkers   = "other-workers" // the rest
	RoleStock          = "stock"         // the Redis that keeps the stock alone
	RoleSQL            = "sql"
	RoleQueue          = "queue"

	// Only in schedules: the player puts names in their place.
	RoleHolder    = "holder"     // the worker whose event a trigger caught
	RoleKeyMaster = "key-master" // the server that has the event's key
)

// KeyRole stands for the server that has a key.
func KeyRole(key string) string { return keyPrefix + key }

const keyPrefix = "key:"

// RoleKey is the key of a name made by KeyRole.
func RoleKey(name string) (key string, ok bool) { return strings.CutPrefix(name, keyPrefix) }

// Group is who has a role.
type Group uint8

// The groups of targets.
const (
	OfNamed Group = iota // no role: the server or the worker of that name
	OfMasters
	OfOldMaster
	OfReplicas
	OfLocks
	OfSentinels
	OfWorkers
	OfCaught // by a trigger
)

// Share is which of a group a role means.
type Share uint8

// The shares.
const (
	ShareAll   Share = iota
	ShareFirst       // one; of workers half of them
	ShareRest
)

// Role is a word that stands for targets.
type Role struct {
	Name  string
	Of    Group
	Share Share
}

// Roles is the table of roles.
var Roles = []Role{
	{RoleMaster, OfMasters, ShareAll},
	{RoleOldMaster, OfOldMaster, ShareAll},
	{RoleReplicas, OfReplicas, ShareAll}, {RoleOneReplica, OfReplicas, ShareFirst}, {RoleOtherReplicas, OfReplicas, ShareRest},
	{RoleLocks, OfLocks, ShareAll},
	{RoleSentinels, OfSentinels, ShareAll}, {RoleOneSentinel, OfSentinels, ShareFirst}, {RoleOtherSentinels, OfSentinels, ShareRest},
	{RoleWorkers, OfWorkers, ShareAll}, {RoleHalfWorkers, OfWorkers, ShareFirst}, {RoleOtherWorkers, OfWorkers, ShareRest},
	{RoleHolder, OfCaught, ShareAll}, {RoleKeyMaster, OfCaught, ShareAll},
	{RoleStock, OfNamed, ShareAll}, {RoleSQL, OfNamed, ShareAll}, {RoleQueue, OfNamed, ShareAll},
}

// RoleOf is what a name stands for: its row in Roles, or a server or worker of
// that name.
func RoleOf(name string) Role {
	if i := slices.IndexFunc(Roles, func(r Role) bool { return r.Name == name }); i >= 0 {
		return Roles[i]
	}
	if _, ok := RoleKey(name); ok {
		return Role{name, OfMasters, ShareFirst}
	}
	return Role{Name: name}
}

// IsWorker reports whether a target is a worker, or a role that stands for
// workers.
func IsWorker(name string) bool {
	return strings.HasPrefix(name, "worker") || RoleOf(name).Of == OfWorkers || name == RoleHolder
}
