//go:build unix

package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCheckEndsAtTheFirstSignal interrupts a check that waits for the rest of its
// history. The pipe takes more than it holds only once check reads from it, which
// is after it listens for signals.
func TestCheckEndsAtTheFirstSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := exec.CommandContext(ctx, self, "check", "-")
			p.Env = append(os.Environ(), asProgram+"=1")
			var stdout, stderr bytes.Buffer
			p.Stdout, p.Stderr = &stdout, &stderr
			in, err := p.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, unfinished(2<<20)); err != nil {
				t.Fatal(err)
			}
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			err = p.Wait()
			if ee, ok := errors.AsType[*exec.ExitError](err); !ok || ee.ExitCode() != exitInterrupted {
				t.Errorf("ended with %v, want exit code %d", err, exitInterrupted)
			}
			if said := stderr.String(); stdout.Len() > 0 || said != "lockcheck: -: interrupted before it was judged\n" {
				t.Errorf("said %q and %q", &stdout, said)
			}
		})
	}
}

// TestRunsEndAtTheFirstSignal interrupts what would go on for hours once it has
// said something: it tells what it has, and exits 130.
func TestRunsEndAtTheFirstSignal(t *testing.T) {
	for _, test := range []struct {
		name, args, ready string
		twice             bool
		said              []string // on standard output
	}{
		{
			name:  "a table whose second cell goes on",
			args:  "run --design=none,row-lock --nemesis=none --seed=1 --time-limit=5s --runs=1000000",
			ready: "1 of 2: none × none: broke",
			said:  []string{"on simulated", "interrupted before the end", "none        B at 1", "oversell"},
		},
		{
			name:  "one cell",
			args:  "run --design=row-lock --nemesis=none --seed=1 --time-limit=5s --runs=1000000",
			ready: "seed 1",
		},
		{
			name:  "twice",
			args:  "run --design=none,row-lock --nemesis=none --seed=1 --time-limit=5s --runs=1000000",
			ready: "1 of 2: none × none: broke", twice: true,
		},
		{
			name:  "a search that finds nothing",
			args:  "search --design=row-lock --nemesis=none --seed=1 --time-limit=5s --runs=1000000",
			ready: "seed 1",
			said:  []string{"interrupted after ", " of 1000000 runs: no violation of row-lock × none in them"},
		},
		{
			name:  "a search that shrinks what it found",
			args:  "search --design=none --nemesis=none --seed=1 --time-limit=1m --shrink-time=1h",
			ready: "found in run 1 of 1000, seed 1",
			said:  []string{"INVALID  none × none on simulated Redis", "oversell", "store/"},
		},
		{
			name:  "a comparison of speeds",
			args:  "bench --cluster=sim --design=none,row-lock --concurrency=2 --seed=1 --time-limit=24h",
			ready: "seed 1",
			said:  []string{"no faults", "\nrow-lock             "},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startSession(t, strings.Fields(test.args))
			p.await(t, test.ready)
			for range 1 + btoi(test.twice) {
				if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			p.wants130(t)
			for _, want := range test.said {
				if !strings.Contains(p.stdout.String(), want) {
					t.Errorf("does not say %q:\n%s", want, &p.stdout)
				}
			}
			if test.ready == "seed 1" {
				return
			}
			// Of what ended, the run is kept, however it was left.
			if kept, _ := filepath.Glob(filepath.Join(p.cmd.Dir, "store", "*-none-none", "verdict.json")); len(kept) != 1 {
				t.Errorf("%d verdicts in the store, want 1", len(kept))
			}
		})
	}
}

// session is lockcheck under way, in a folder of its own.
type session struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr *bufio.Scanner
	said   strings.Builder // what was read of stderr
}

func startSession(t *testing.T, args []string) *session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &session{cmd: exec.CommandContext(ctx, self, args...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdout = &p.stdout
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewScanner(stderr)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await reads standard error up to the line that begins so.
func (p *session) await(t *testing.T, line string) {
	t.Helper()
	for p.stderr.Scan() {
		p.said.WriteString(p.stderr.Text() + "\n")
		if strings.HasPrefix(p.stderr.Text(), line) {
			return
		}
	}
	t.Fatalf("ended without saying %q: %s", line, &p.said)
}

func (p *session) wants130(t *testing.T) {
	t.Helper()
	for p.stderr.Scan() {
		p.said.WriteString(p.stderr.Text() + "\n")
	}
	err := p.cmd.Wait()
	if ee, ok := errors.AsType[*exec.ExitError](err); !ok || ee.ExitCode() != exitInterrupted {
		t.Errorf("ended with %v, want exit code %d: %s", err, exitInterrupted, &p.said)
	}
	if want := "lockcheck: interrupted: ending the run; once more leaves at once\n"; !strings.Contains(p.said.String(), want) {
		t.Errorf("said %q, without %q", &p.said, want)
	}
}

// TestTheSecondSignalLeaves holds what each verb says when it is left at once: a
// table that was not printed is not told above.
func TestTheSecondSignalLeaves(t *testing.T) {
	const first = "\nlockcheck: interrupted: ending the run; once more leaves at once\n"
	const second = "lockcheck: interrupted twice: left at once, the output may not be whole"
	for verb, want := range map[string]string{
		"run":    first + second + "; of each cell that ended the run is in the store; lockcheck clean removes what real servers left\n",
		"search": first + second + "; what was found may not be in the store, the same --seed finds it again\n",
		"check":  second + "\n",
		"serve":  second + "\n",
	} {
		t.Run(verb, func(t *testing.T) {
			signals := make(chan os.Signal, 4)
			for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt} {
				signals <- s
			}
			cancelled := 0
			var said strings.Builder
			obey(signals, func() { cancelled++ }, verb, &said)
			if said.String() != want || cancelled != 1 || len(signals) != 1 {
				t.Errorf("cancelled %d times, %d signals left, said %q, want %q", cancelled, len(signals), &said, want)
			}
		})
	}
}

// unfinished is a history of at least size bytes that goes on.
func unfinished(size int) string {
	var b strings.Builder
	b.WriteString(`{"format":"lockcheck/1","lock":{"none":true},"initial":5,"max-delay":0}` + "\n")
	for i := 1; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"time":%d,"process":0,"type":"invoke","f":"read","op":%d,"key":"s"}`+"\n", i, i)
		fmt.Fprintf(&b, `{"time":%d,"process":0,"type":"ok","f":"read","op":%d,"value":5}`+"\n", i, i)
	}
	return b.String()
}
