// Mutate measures what the tests of the checker notice: it changes one
// expression of a rule at a time (< into <=, && into ||, a condition dropped)
// and runs the tests of package checker against each change. A mutant that no
// test fails on survives, and is printed with its place.
//
//	go run ./checker/internal/mutate -n 200 -seed 1
//
// Nothing in the work tree is touched: mutants are compiled with an overlay.
// The exit status is 1 if fewer than -least per cent were killed. By hand and
// weekly: each mutant is compiled and tested, so 200 take an hour or more on two
// cores.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	var c campaign
	flag.IntVar(&c.n, "n", 200, "number of mutants")
	flag.Uint64Var(&c.seed, "seed", 1, "chooses the mutants")
	flag.StringVar(&c.dir, "dir", "checker", "package to mutate")
	flag.StringVar(&c.only, "only", "", "mutate only files whose name contains this")
	flag.StringVar(&c.run, "run", ".", "tests to run, as go test -run")
	flag.DurationVar(&c.limit, "limit", 90*time.Second, "time for the tests of one mutant; beyond it counts as killed")
	least := flag.Int("least", 95, "per cent of mutants that must be killed")
	flag.Parse()
	killed, all, err := c.play()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(255)
	}
	fmt.Printf("%d of %d mutants killed (%.1f %%)\n", killed, all, 100*float64(killed)/float64(all))
	if killed*100 < all**least {
		os.Exit(1)
	}
}

// campaign is a number of mutants and the tests that are to kill them.
type campaign struct {
	n     int
	seed  uint64
	dir   string
	only  string
	run   string
	limit time.Duration
}

// outcome of the tests of one mutant.
type outcome struct {
	mutant
	killed   bool
	compiles bool
	err      error
}

func (c *campaign) play() (killed, all int, err error) {
	chosen, err := c.choose()
	if err != nil {
		return 0, 0, err
	}
	tmp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(tmp)
	if o := c.try(tmp, mutant{}); o.killed || o.err != nil {
		return 0, 0, errors.Join(errors.New("the tests fail without any mutation"), o.err)
	}
	for len(chosen) > 0 && all < c.n {
		batch := chosen[:min(len(chosen), c.n-all)]
		chosen = chosen[len(batch):]
		for _, o := range c.tryAll(tmp, batch) {
			switch {
			case o.err != nil:
				return 0, 0, o.err
			case !o.compiles: // minus between strings
				continue
			case o.killed:
				killed++
			default:
				fmt.Printf("survived %s:%d: %s  →  %s\n", o.file, o.line, o.old, o.new)
			}
			all++
		}
	}
	return killed, all, nil
}

// tryAll tries some mutants on all cores.
func (c *campaign) tryAll(tmp string, chosen []mutant) []outcome {
	results := make([]outcome, len(chosen))
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i] = c.try(tmp, chosen[i])
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// speaks are files that word a verdict and decide nothing.
var speaks = []string{"words.go", "story.go", "picture.go", "verdict.go", "counts.go", "warnings.go"}

// choose draws mutants evenly from all that the package allows.
func (c *campaign) choose() ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(c.dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, "_test.go") || slices.Contains(speaks, base) || !strings.Contains(base, c.only) {
			continue
		}
		m, err := mutantsOf(file)
		if err != nil {
			return nil, err
		}
		all = append(all, m...)
	}
	r := rand.New(rand.NewPCG(c.seed, 1))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	fmt.Printf("%d possible mutants in %s\n", len(all), c.dir)
	return all, nil
}

// try compiles the tests with one mutant in place and runs them.
func (c *campaign) try(tmp string, m mutant) (o outcome) {
	o.mutant = m
	dir, err := os.MkdirTemp(tmp, "m")
	if err != nil {
		o.err = err
		return o
	}
	defer os.RemoveAll(dir)
	args := []string{"test", "-c", "-vet=off", "-o", filepath.Join(dir, "test")}
	if m.file != "" {
		overlay, err := m.overlay(dir)
		if err != nil {
			o.err = err
			return o
		}
		args = append(args, "-overlay", overlay)
	}
	if err := exec.Command("go", append(args, "./"+c.dir)...).Run(); err != nil {
		return o
	}
	o.compiles = true
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	test := exec.CommandContext(ctx, filepath.Join(dir, "test"), "-test.failfast", "-test.run", c.run)
	test.Dir = c.dir
	o.killed = test.Run() != nil
	return o
}

// overlay writes the mutated file and tells the go command to use it.
func (m mutant) overlay(dir string) (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(changed, slices.Concat(text[:m.from], []byte(m.new), text[m.to:]), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}
