// Package corpus holds small histories with their right verdicts: what a
// checker must accept, what it must reject, and whom it must blame.
//
// Each folder is one source and has a README: tricky (histories that naive
// checkers get wrong), incidents (public bug reports about locks and
// overselling, replayed), edges (beliefs and lives that end while something is
// in flight), properties (for each property the smallest history that keeps it
// and the smallest that breaks it). The header of a history says under "expect" what is right: the violated properties, each with the
// ids of the operations (for duplicate-order: the orders) to blame, or
// {"verdict":"valid"}.
//
// Start with All. The package imports nothing: read a history with
// histories.ReadJSON.
package corpus

import (
	"embed"
	"io/fs"
	"slices"
)

// Files has the histories by folder: tricky/H1a.jsonl.
//
//go:embed */*.jsonl
var Files embed.FS

// All lists the names of all histories, sorted.
func All() ([]string, error) {
	names, err := fs.Glob(Files, "*/*.jsonl")
	slices.Sort(names)
	return names, err
}
