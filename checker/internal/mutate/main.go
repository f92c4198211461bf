// Mutate measures what the tests of the checker notice: it changes one
// expression of a rule at a time (< into <=, && into ||, a condition or a summand
// dropped) and runs the tests of package checker against each change. A mutant
// that no test fails on survives.
//
//	go run ./checker/internal/mutate -n 200 -seed 1 -results mutants.jsonl
//
// Each result is printed as it comes, and kept in the file of -results: a second
// call tries only what is not in there, and with -retry what survived. Nothing in
// the work tree is touched.
//
// All chosen mutants are compiled into one test binary, which plays the one that
// the environment names (mutant schemata: Untch, Offutt, Harrold, 1993): a
// compiler for each would take longer than the tests. See weave.go. The few that
// cannot be had this way are compiled alone. First come the tests with few random
// histories, which end at the first failure; what survives them meets all.
//
// The exit status is 1 if fewer than -least per cent were killed. By hand and
// weekly: 200 take half an hour on two cores.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var c campaign
	flag.IntVar(&c.n, "n", 200, "number of mutants")
	flag.Uint64Var(&c.seed, "seed", 1, "chooses the mutants")
	flag.StringVar(&c.dir, "dir", "checker", "package to mutate")
	flag.StringVar(&c.only, "only", "", "mutate only files whose name contains this")
	flag.StringVar(&c.results, "results", "", "file of results, which a second call continues")
	flag.BoolVar(&c.retry, "retry", false, "try again what survived according to -results")
	quick := flag.String("quick", "-histories=2000 -worlds=20 -physical=50 -test.skip=Hostile|TakesForEver|Million|TenThousand", "flags of the tests that each mutant meets first")
	full := flag.String("full", "-test.skip=Hostile|TakesForEver", "flags of the tests that it meets if it survives those")
	least := flag.Int("least", 95, "per cent of mutants that must be killed")
	flag.Parse()
	c.stages = [][]string{strings.Fields(*quick), strings.Fields(*full)}
	killed, all, err := c.play()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(255)
	}
	fmt.Printf("%d of %d mutants killed (%.1f %%)\n", killed, all, 100*float64(killed)/float64(max(all, 1)))
	if killed*100 < all**least {
		os.Exit(1)
	}
}
