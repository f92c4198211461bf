//go:build linux

// Measure checks and reports every hostile history at several sizes, each in a
// process of its own, and prints processor time, memory and exit code as a
// table in Markdown.
//
//	go run ./histories/hostile/measure
//	go run ./histories/hostile/measure -n 10000 -only 'reused|pauses'
//
// The exit status is 1 if a history took more than -most times as long as the
// ordinary lock of its size and was decided all the same: what takes longer
// must end as unknown (exit code 3) with a reason that names the budget.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/histories/hostile"
)

func main() {
	ok, err := run()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// campaign is what the flags ask for.
type campaign struct {
	lockcheck, dir string
	limit          time.Duration
	most           float64
	usual          map[string]time.Duration // by verb, of the ordinary lock of this size
}

func run() (bool, error) {
	var c campaign
	sizes := flag.String("n", "10000,100000,1000000", "numbers of operations")
	only := flag.String("only", "", "shapes whose name matches (the ordinary ones always)")
	flag.StringVar(&c.lockcheck, "lockcheck", "", "the program to measure (default: built from this tree)")
	flag.DurationVar(&c.limit, "limit", 10*time.Minute, "time for one process, after which it is killed")
	flag.Float64Var(&c.most, "most", 20, "how many times the ordinary lock a decided history may take")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return false, err
	}
	if c.dir, err = os.MkdirTemp("", "hostile"); err != nil {
		return false, err
	}
	defer os.RemoveAll(c.dir)
	if c.lockcheck == "" {
		c.lockcheck = filepath.Join(c.dir, "lockcheck")
		build := exec.Command("go", "build", "-tags", "sim", "-o", c.lockcheck, "./cmd/lockcheck")
		if out, err := build.CombinedOutput(); err != nil {
			return false, fmt.Errorf("%w: %s", err, out)
		}
	}
	all := true
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return false, err
		}
		ok, err := c.table(n, match)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

// table measures all shapes at one size.
func (c *campaign) table(n int, match *regexp.Regexp) (ok bool, err error) {
	c.usual = map[string]time.Duration{}
	fmt.Printf("\n%d operations:\n\n| history | check: CPU s | × | MiB | exit | report: CPU s | × | MiB | exit |\n|---|---|---|---|---|---|---|---|---|\n", n)
	ok = true
	for i := range hostile.Shapes {
		s := &hostile.Shapes[i]
		if i > 1 && !match.MatchString(s.Name) {
			continue
		}
		good, err := c.row(s, n)
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.Name, err)
		}
		ok = ok && good
	}
	return ok, nil
}

func (c *campaign) row(s *hostile.Shape, n int) (bool, error) {
	folder := filepath.Join(c.dir, "run")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "history.jsonl")
	if err := write(s, name, n); err != nil {
		return false, err
	}
	fmt.Printf("| %s ", s.Name)
	all := true
	for _, verb := range []string{"check", "report"} {
		m := c.measure(verb, name)
		if _, ok := c.usual[verb]; !ok {
			c.usual[verb] = m.cpu
		}
		times := m.cpu.Seconds() / c.usual[verb].Seconds()
		ok := !m.killed && m.exit >= 0 && (times <= c.most || m.exit == 3 && m.budget)
		note := ""
		if !ok {
			all, note = false, " **beyond**"
		}
		fmt.Printf("| %.2f | %.1f | %d | %s%s ", m.cpu.Seconds(), times, m.rss>>20, m.code(), note)
	}
	fmt.Println("|")
	return all, nil
}

func write(s *hostile.Shape, name string, n int) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return s.WriteTo(file, n)
}

// measured is what one process took.
type measured struct {
	cpu    time.Duration // user and system
	rss    int64         // bytes
	exit   int
	killed bool
	budget bool // its answer names the budget
}

func (m measured) code() string {
	switch {
	case m.killed:
		return "killed"
	case m.budget:
		return fmt.Sprintf("%d, budget", m.exit)
	}
	return strconv.Itoa(m.exit)
}

func (c *campaign) measure(verb, name string) measured {
	ctx, cancel := context.WithTimeout(context.Background(), c.limit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.lockcheck, verb, name)
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code tells
	m := measured{exit: cmd.ProcessState.ExitCode(), killed: ctx.Err() != nil, budget: bytes.Contains(out.Bytes(), []byte("budget"))}
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.rss = use.Maxrss << 10
	}
	return m
}
