package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// campaign is a number of mutants and the tests that are to kill them.
type campaign struct {
	n       int
	seed    uint64
	dirs    []string
	only    string
	results string
	retry   bool
	stages  [][]string
}

// batch is how many mutants one test binary has: where conditions nest, each
// doubles the text of what is in it.
const batch = 250

func (c *campaign) play(ctx context.Context) (killed, all int, err error) {
	sources, chosen, err := c.choose()
	if err != nil {
		return 0, 0, err
	}
	known, err := openResults(c.results)
	if err != nil {
		return 0, 0, err
	}
	defer known.Close()
	tmp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(tmp)
	for len(chosen) > 0 && all < c.n {
		some := chosen[:min(len(chosen), c.n-all, batch)] // those that do not compile make room for others
		chosen = chosen[len(some):]
		if err := c.try(ctx, tmp, sources, known, some); err != nil {
			return 0, 0, err
		}
		for _, m := range some {
			switch known.of[m.key()].Result {
			case killedByTest, killedByTime:
				killed++
				all++
			case survived:
				all++
			}
		}
	}
	return killed, all, nil
}

// try finds the results of some mutants that are not known yet.
func (c *campaign) try(ctx context.Context, tmp string, sources map[string]*source, known *results, some []mutant) error {
	some = slices.DeleteFunc(slices.Clone(some), func(m mutant) bool {
		r, ok := known.of[m.key()]
		return ok && r.decided() && !(c.retry && r.Result == survived)
	})
	if len(some) == 0 {
		return nil
	}
	b := &bench{dirs: c.dirs, tmp: tmp, sources: sources, stages: c.stages, usual: map[stageOf]time.Duration{}}
	var err error
	if b.meet, err = meeting(ctx, c.dirs); err != nil {
		return err
	}
	alone, err := b.weave(ctx, some)
	if err != nil {
		return err
	}
	for stage := range c.stages {
		sound := false
		for i, m := range some {
			before := known.of[m.key()]
			if r := before.Result; stage > 0 && r != passed(stage-1) {
				continue
			}
			if !sound {
				if err := b.sound(ctx, stage); err != nil {
					return err
				}
				sound = true
			}
			r, err := b.play(ctx, stage, i+1, alone[i], m)
			if err != nil {
				return err
			}
			if r.Result == survived && stage < len(c.stages)-1 {
				r.Result = passed(stage)
			}
			r.Seconds += before.Seconds
			if err := known.add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// speaks are files that word a verdict and decide nothing.
var speaks = []string{"words.go", "story.go", "picture.go", "verdict.go", "counts.go", "warnings.go"}

// choose puts all mutants of the packages into an order of which any beginning has
// its share of each file.
func (c *campaign) choose() (map[string]*source, []mutant, error) {
	var files []string
	for _, dir := range c.dirs {
		its, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, its...)
	}
	sources := map[string]*source{}
	var all []mutant
	place := map[string]float64{}
	for _, file := range files {
		base := filepath.Base(file)
		if strings.HasSuffix(base, "_test.go") || slices.Contains(speaks, base) || !strings.Contains(base, c.only) {
			continue
		}
		s, err := parse(file)
		if err != nil {
			return nil, nil, err
		}
		sources[file] = s
		r := rand.New(rand.NewPCG(c.seed, uint64(len(sources))))
		r.Shuffle(len(s.all), func(i, j int) { s.all[i], s.all[j] = s.all[j], s.all[i] })
		first := r.Float64()
		for i, m := range s.all {
			place[m.key()] = (float64(i) + first) / float64(len(s.all))
		}
		all = append(all, s.all...)
	}
	if len(all) == 0 {
		return nil, nil, errors.New("no mutants there")
	}
	slices.SortStableFunc(all, func(a, b mutant) int { return cmp.Compare(place[a.key()], place[b.key()]) })
	fmt.Printf("%d possible mutants in %d files of %s\n", len(all), len(sources), strings.Join(c.dirs, " and "))
	return sources, all, nil
}
