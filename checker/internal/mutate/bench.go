package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of one stage of the tests of one mutant. Processor time tells a mutant
// that hangs, however busy the machine is; the clock one that waits forever.
const (
	slowest          = 20 // times what the tests take without a mutation
	processorSeconds = 10 // and this besides
	clock            = 30 * time.Minute
	memoryKiB        = 6 << 20
)

// bench compiles mutants and plays the tests against them.
type bench struct {
	dirs    []string
	meet    map[string][]string // by folder of a mutant: those whose tests meet it, its own first
	tmp     string
	sources map[string]*source
	stages  [][]string
	usual   map[stageOf]time.Duration // processor time of a stage without a mutation
}

// stageOf is a stage of the tests of one package.
type stageOf struct {
	stage int
	dir   string
}

// meeting finds which packages' tests reach each package.
func meeting(ctx context.Context, dirs []string) (map[string][]string, error) {
	meet := map[string][]string{}
	for _, dir := range dirs {
		meet[dir] = append(meet[dir], dir)
	}
	for _, tests := range dirs {
		output, err := exec.CommandContext(ctx, "go", "list", "-test", "-deps", "-f", "{{.Dir}}", "./"+tests).Output()
		if err != nil {
			return nil, fmt.Errorf("go list ./%s: %w", tests, err)
		}
		reached := strings.Fields(string(output))
		for _, dir := range dirs {
			if path, err := filepath.Abs(dir); err == nil && dir != tests && slices.Contains(reached, path) {
				meet[dir] = append(meet[dir], tests)
			}
		}
	}
	return meet, nil
}

// weave compiles the test binaries with mutants 1, 2, … of a list. It answers which
// of the list must be compiled alone: sums of constants or strings, mostly.
func (b *bench) weave(ctx context.Context, some []mutant) (alone map[int]bool, err error) {
	alone = map[int]bool{}
	for {
		of := map[string]map[int]mutant{}
		for i, m := range some {
			if !alone[i] {
				if of[m.File] == nil {
					of[m.File] = map[int]mutant{}
				}
				of[m.File][i+1] = m
			}
		}
		text := map[string]string{}
		for _, dir := range b.dirs {
			text[filepath.Join(dir, "mutant_switches.go")] = fmt.Sprintf(switches, filepath.Base(dir))
		}
		for file, numbered := range of {
			text[file] = b.sources[file].weave(numbered)
		}
		output, err := b.compile(ctx, "woven", text, b.dirs)
		if err == nil {
			return alone, nil
		}
		before := len(alone)
		for _, i := range culprits(output, text) {
			alone[i] = true
		}
		if len(alone) == before {
			return nil, fmt.Errorf("%w\n%s", err, output)
		}
	}
}

var (
	compileError = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):`)
	mutantNumber = regexp.MustCompile(`mutant(?:Is|Sum|Least)\((-?\d+)(?:, (-?\d+))?`)
)

// culprits are the mutants (by place in the list) in the lines that do not
// compile.
func culprits(output string, text map[string]string) []int {
	var is []int
	for _, at := range compileError.FindAllStringSubmatch(output, -1) {
		for file, t := range text {
			if filepath.Base(at[1]) != flat(file) {
				continue
			}
			line, _ := strconv.Atoi(at[2])
			for _, m := range mutantNumber.FindAllStringSubmatch(strings.Split(t, "\n")[line-1], -1) {
				for _, digits := range m[1:] {
					if id, err := strconv.Atoi(digits); err == nil && id > 0 {
						is = append(is, id-1)
					}
				}
			}
		}
	}
	return is
}

// compile makes the test binaries of packages with files in place of, or beside,
// those in the work tree. It answers what the compiler said.
func (b *bench) compile(ctx context.Context, name string, text map[string]string, dirs []string) (string, error) {
	replace := map[string]string{}
	for _, file := range slices.Sorted(maps.Keys(text)) {
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(b.tmp, flat(file))
		if err := os.WriteFile(replace[original], []byte(text[file]), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(b.tmp, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return "", err
	}
	for _, dir := range dirs {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", b.binary(name, dir), "./"+dir)
		if output, err := build.CombinedOutput(); err != nil {
			return string(output), err
		}
	}
	return "", nil
}

func (b *bench) binary(name, dir string) string { return filepath.Join(b.tmp, name+"-"+flat(dir)) }

// flat is a path as the name of one file.
func flat(path string) string { return strings.ReplaceAll(path, string(filepath.Separator), "_") }

// play plays a stage of the tests with one mutant of the woven binary, by its
// number there (0 is none), or compiled alone.
func (b *bench) play(ctx context.Context, stage, id int, alone bool, m mutant) (result, error) {
	name, dirs := "woven", b.meet[filepath.Dir(m.File)]
	if alone {
		name = "alone"
		output, err := b.compile(ctx, name, map[string]string{m.File: b.sources[m.File].alone(m)}, dirs)
		if err != nil && compileError.MatchString(output) {
			return result{mutant: m, Result: notCompiled}, nil
		}
		if err != nil {
			return result{}, fmt.Errorf("%w\n%s", err, output)
		}
	}
	start := time.Now()
	r, err := result{Result: survived}, error(nil)
	for _, dir := range dirs {
		if r, err = b.run(ctx, name, id, stageOf{stage, dir}); err != nil || r.Result != survived {
			break
		}
	}
	r.mutant, r.Seconds = m, time.Since(start).Seconds()
	return r, err
}

// sound fails if a stage of the tests kills what is no mutant. It notes how much
// processor time they take.
func (b *bench) sound(ctx context.Context, stage int) error {
	for _, dir := range b.dirs {
		of := stageOf{stage, dir}
		b.usual[of] = clock
		r, err := b.run(ctx, "woven", 0, of)
		if err != nil {
			return err
		}
		if r.Result != survived {
			return fmt.Errorf("the tests of %s fail without any mutation: %s %s", dir, r.Result, r.By)
		}
		b.usual[of] = r.processor
	}
	return nil
}

// run runs the tests once, in a process of bounded time and memory, and in a
// folder of its own: tests keep what they find beside them.
func (b *bench) run(ctx context.Context, name string, id int, of stageOf) (result, error) {
	scratch := filepath.Join(b.tmp, "scratch")
	here := filepath.Join(scratch, of.dir)
	defer os.RemoveAll(scratch)
	if err := os.MkdirAll(here, 0o755); err != nil {
		return result{}, err
	}
	if err := os.CopyFS(filepath.Join(here, "testdata"), os.DirFS(filepath.Join(of.dir, "testdata"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return result{}, err
	}
	limited, cancel := context.WithTimeout(ctx, clock)
	defer cancel()
	limits := fmt.Sprintf(`ulimit -t %d; ulimit -v %d; exec "$0" "$@"`, int(processorSeconds+slowest*b.usual[of].Seconds()), memoryKiB)
	flags, err := b.flags(limited, b.binary(name, of.dir), of.stage)
	if err != nil {
		return result{}, err
	}
	args := append([]string{"-c", limits, b.binary(name, of.dir), "-test.failfast", "-test.timeout=0"}, flags...)
	test := exec.CommandContext(limited, "sh", args...)
	test.Dir = here
	test.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id), "TMPDIR="+scratch)
	output, err := test.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case err == nil:
		return result{Result: survived, processor: test.ProcessState.UserTime() + test.ProcessState.SystemTime()}, nil
	case test.ProcessState != nil && !test.ProcessState.Exited(): // by a signal
		return result{Result: killedByTime}, nil
	}
	return result{Result: killedByTest, By: failure(string(output))}, nil
}

// flags are those of a stage that a test binary knows.
func (b *bench) flags(ctx context.Context, binary string, stage int) ([]string, error) {
	usage, err := exec.CommandContext(ctx, binary, "-help").CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(b.stages[stage]), func(flag string) bool {
		name, _, _ := strings.Cut(flag, "=")
		return !regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(name) + `\b`).Match(usage)
	}), nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// failure is the first test that failed, or what the process died of.
func failure(output string) string {
	if m := failed.FindStringSubmatch(output); m != nil {
		return m[1] + m[2]
	}
	return strings.TrimSpace(output)[:min(len(strings.TrimSpace(output)), 100)]
}
