// Command needles is lockcheck with the needles and their twins beside the
// catalogue: it replays what a search among them found.
//
//	go run ./workload/needles/cmd/needles search --design=two-errors --nemesis=loss --variant=lost-replies --interval=4s
package main

import (
	"os"

	"github.com/lockcheck/lockcheck"
	"github.com/lockcheck/lockcheck/workload/needles"
)

func main() { os.Exit(lockcheck.Main(needles.Designs()...)) }
