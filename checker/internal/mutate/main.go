// Mutate measures what the tests of the checker notice: it changes one
// expression of a rule at a time (< into <=, && into ||, a condition or a summand
// dropped) and runs the tests of packages checker and linear against each change. A mutant
// that no test fails on survives.
//
//	go run ./checker/internal/mutate -n 200 -seed 1 -results mutants.jsonl
//
// Each result is printed as it comes, and kept in the file of -results: a second
// call tries only what is not in there, and with -retry what survived. Nothing in
// the work tree is touched.
//
// All chosen mutants are compiled into one test binary a package, which plays the one that
// the environment names (mutant schemata: Untch, Offutt, Harrold, 1993): a
// compiler for each would take longer than the tests. See weave.go. The few that
// cannot be had this way are compiled alone. First all mutants meet the tests with
// few random histories; what survives these, the tests with more of them.
//
// The exit status is 1 if fewer than -least per cent were killed. By hand and
// weekly: 200 take an hour on two cores.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	var c campaign
	flag.IntVar(&c.n, "n", 200, "number of mutants")
	flag.Uint64Var(&c.seed, "seed", 1, "chooses the mutants")
	dirs := flag.String("dir", "checker,checker/linear", "packages to mutate, each of which meets the tests of all that reach it")
	flag.StringVar(&c.only, "only", "", "mutate only files whose name contains this")
	flag.StringVar(&c.results, "results", "", "file of results, which a second call continues")
	flag.BoolVar(&c.retry, "retry", false, "try again what survived according to -results")
	first := flag.String("first", "-histories=300 -worlds=4 -physical=20 -test.skip=Hostile|TakesForEver|Million|TenThousand|Defects|BooksMiss|Fuzz", "flags of the tests that each mutant meets first")
	then := flag.String("then", "-histories=2000 -worlds=20 -physical=50 -test.skip=Hostile|TakesForEver|Million|TenThousand", "of those that it meets if it survives these")
	last := flag.String("last", "-test.skip=Hostile|TakesForEver", "and of those that it meets at last")
	least := flag.Int("least", 95, "per cent of mutants that must be killed")
	flag.Parse()
	c.dirs = strings.Split(*dirs, ",")
	for _, flags := range []string{*first, *then, *last} {
		if flags != "" {
			c.stages = append(c.stages, strings.Fields(flags))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	killed, all, err := c.play(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(255)
	}
	fmt.Printf("%d of %d mutants killed (%.1f %%)\n", killed, all, 100*float64(killed)/float64(max(all, 1)))
	if killed*100 < all**least {
		os.Exit(1)
	}
}
