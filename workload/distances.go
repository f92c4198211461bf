package workload

import "fmt"

// Reach is what a design claims of one level in the small scenes of package
// explore (two or three workers, one unit, one sale each): how many deviations it
// takes to break it.
type Reach struct {
	Bears  int // no placement of so many breaks the level
	Breaks int // some placement of so many does; -1: none is known
}

// String is "bears 1, breaks with 2".
func (r Reach) String() string {
	switch {
	case r == nothing:
		return "–"
	case r.Breaks < 0:
		return fmt.Sprintf("bears %d", r.Bears)
	case r.Breaks == 0:
		return "breaks with 0"
	}
	return fmt.Sprintf("bears %d, breaks with %d", r.Bears, r.Breaks)
}

// Surprise says how a search that played all schedules with up to complete
// deviations contradicts the claim; "": it does not.
func (r Reach) Surprise(broken bool, deviations, complete int) string {
	switch {
	case broken && (deviations <= r.Bears && r.Breaks != 0 || deviations < r.Breaks):
		return fmt.Sprintf("%s, and broke with %d", r, deviations)
	case !broken && r.Breaks >= 0 && complete >= r.Breaks:
		return fmt.Sprintf("%s, and no schedule with %d did", r, complete)
	}
	return ""
}

// breaksWith is the claim to bear every placement of fewer deviations, and to be
// broken by one of n.
func breaksWith(n int) Reach { return Reach{Bears: max(0, n-1), Breaks: n} }

// bears is the claim to bear every placement of n deviations.
func bears(n int) Reach { return Reach{Bears: n, Breaks: -1} }

// nothing is the claim of a level of which the design has nothing.
var nothing = bears(9)

// DistanceOf is what a design of this module claims, by level: lock, use, business.
func DistanceOf(design string) (reach [3]Reach, ok bool) {
	reach, ok = distances[design]
	return reach, ok
}

// distances have a row for each design of the catalogue.
var distances = map[string][3]Reach{
	"redis-lock":           {breaksWith(1), bears(2), breaksWith(1)},
	"redis-lock-short":     {breaksWith(0), bears(1), breaksWith(0)},
	"stock-lock":           {breaksWith(1), bears(1), breaksWith(1)},
	"stock-lock-backoff":   {breaksWith(1), bears(1), breaksWith(1)},
	"spin-lock":            {breaksWith(1), bears(1), breaksWith(1)},
	"watchdog":             {breaksWith(1), bears(1), breaksWith(1)},
	"pubsub-lock":          {breaksWith(1), bears(1), breaksWith(1)},
	"forgetful":            {breaksWith(1), bears(1), breaksWith(1)},
	"nested-deadlock":      {breaksWith(0), bears(1), breaksWith(1)},
	"reentrant":            {breaksWith(1), bears(1), breaksWith(1)},
	"idempotent-lock":      {breaksWith(1), bears(1), breaksWith(1)},
	"two-warehouses":       {breaksWith(1), bears(1), breaksWith(1)},
	"pipeline":             {breaksWith(1), bears(2), bears(2)},
	"coarse-lock":          {breaksWith(1), bears(1), breaksWith(1)},
	"sku-lock":             {breaksWith(1), bears(1), breaksWith(1)},
	"user-sku-lock":        {breaksWith(1), bears(2), bears(2)},
	"segment-lock":         {breaksWith(1), bears(1), breaksWith(1)},
	"none":                 {nothing, nothing, breaksWith(0)},
	"decr-rollback":        {nothing, nothing, breaksWith(1)},
	"lua-stock":            {nothing, nothing, breaksWith(1)},
	"redlock":              {breaksWith(2), breaksWith(1), breaksWith(1)},
	"wait-lock":            {breaksWith(1), bears(2), breaksWith(1)},
	"cluster-lock":         {breaksWith(1), bears(2), breaksWith(1)},
	"row-lock":             {nothing, nothing, bears(2)},
	"version-lock":         {nothing, nothing, bears(2)},
	"conditional-update":   {nothing, nothing, bears(2)},
	"lease-aware":          {breaksWith(1), breaksWith(1), bears(2)},
	"fenced-redis":         {breaksWith(1), breaksWith(2), breaksWith(1)},
	"fenced":               {breaksWith(1), bears(2), bears(2)},
	"setnx-expire":         {breaksWith(1), bears(1), breaksWith(1)},
	"del-any":              {breaksWith(1), bears(1), breaksWith(1)},
	"get-then-del":         {breaksWith(1), bears(1), breaksWith(1)},
	"ttl-no-fence":         {breaksWith(1), breaksWith(1), breaksWith(1)},
	"renew-resurrect":      {breaksWith(1), breaksWith(1), breaksWith(1)},
	"renew-blind":          {breaksWith(1), bears(1), breaksWith(1)},
	"async-failover":       {breaksWith(1), bears(2), breaksWith(1)},
	"client-clock":         {breaksWith(1), bears(1), breaksWith(1)},
	"retry-blind":          {breaksWith(1), bears(1), breaksWith(1)},
	"unlock-before-commit": {breaksWith(1), breaksWith(0), breaksWith(1)},
	"shared-owner":         {breaksWith(0), bears(1), breaksWith(0)},
	"fail-open":            {breaksWith(1), bears(1), breaksWith(1)},
	"redlock-forgetful":    {breaksWith(1), breaksWith(1), breaksWith(1)},
	"read-before-lock":     {breaksWith(1), bears(1), breaksWith(0)},
	"replica-read":         {breaksWith(1), bears(1), breaksWith(1)},
	"get-lock-pool":        {breaksWith(0), bears(1), breaksWith(0)},
	"fair-queue":           {breaksWith(1), bears(1), breaksWith(1)},
	"own-duration":         {breaksWith(1), breaksWith(1), breaksWith(1)},
	"reaped":               {breaksWith(1), bears(1), breaksWith(1)},
	"stale-unlock":         {breaksWith(1), bears(1), breaksWith(1)},
	"presence":             {breaksWith(1), bears(1), breaksWith(1)},
	"half-locked":          {nothing, nothing, breaksWith(0)},
	"two-keys":             {breaksWith(1), bears(1), breaksWith(1)},
	"fence-write-only":     {breaksWith(1), breaksWith(1), breaksWith(1)},
	"wrong-key":            {breaksWith(0), bears(1), breaksWith(1)},
	"renew-forever":        {breaksWith(1), bears(1), breaksWith(1)},
	"clocked-del":          {breaksWith(1), breaksWith(1), breaksWith(1)},
}
