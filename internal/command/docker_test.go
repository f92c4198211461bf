//go:build unix && !sim

package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// program is lockcheck as a process of its own, on the real cluster.
type program struct {
	*exec.Cmd
	store          string
	stdout, stderr bytes.Buffer
}

// needEngine skips where there is no Docker engine.
func needEngine(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker", "info").CombinedOutput(); err != nil {
		t.Skipf("no Docker engine: %v: %.200s", err, out)
	}
}

// start begins a long run without faults and returns when sales are recorded.
func start(t *testing.T) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{store: filepath.Join(t.TempDir(), "store")}
	p.Cmd = exec.Command(self, "run", "--cluster=docker", "--design=redis-lock", "--nemesis=failover", "--time-limit=10m", "--seed=5", "--store="+p.store)
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
		clean(t)
	})
	waitFor(t, 3*time.Minute, "a partition in the history", func() bool {
		data, _ := os.ReadFile(p.history())
		return bytes.Contains(data, []byte(`"f":"partition"`))
	})
	return p
}

func (p *program) history() string {
	return filepath.Join(p.store, histories.Latest, histories.HistoryFile)
}

// waitFor polls for a condition, for limit at most.
func waitFor(t *testing.T, limit time.Duration, what string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !ready() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s in %v", what, limit)
		}
	}
}

// clean runs lockcheck clean and answers what it said.
func clean(t *testing.T) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := (Program{}).execute(context.Background(), []string{"clean"}, strings.NewReader(""), &out, &errs); code != exitValid {
		t.Errorf("clean: exit %d: %s", code, &errs)
	}
	return out.String()
}

// leftovers lists the containers, networks and worker processes of p.
func (p *program) leftovers(t *testing.T) []string {
	t.Helper()
	owned := strconv.Itoa(p.Process.Pid) + "-"
	var left []string
	for _, args := range [][]string{{"ps", "-a"}, {"network", "ls"}} {
		args = append(args, "--filter", "label=lockcheck", "--format", `{{.Label "lockcheck.owner"}} {{.ID}}`)
		out, err := exec.Command("docker", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, owned) {
				left = append(left, args[0]+" "+line)
			}
		}
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range environs {
		if data, _ := os.ReadFile(name); bytes.Contains(data, []byte("LOCKCHECK_RUN="+owned)) {
			left = append(left, name)
		}
	}
	return left
}

// TestCtrlCHealsReportsAndRemoves interrupts a run in the middle of a fault.
func TestCtrlCHealsReportsAndRemoves(t *testing.T) {
	needEngine(t)
	p := start(t)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		ee, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ee.ExitCode() != exitInterrupted {
			t.Errorf("ended with %v, want exit code %d\n%s", err, exitInterrupted, &p.stderr)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("still running two minutes after Ctrl-C")
	}
	for _, name := range []string{histories.HistoryFile, histories.VerdictFile, histories.ReportFile, histories.RunFile} {
		if _, err := os.Stat(filepath.Join(p.store, histories.Latest, name)); err != nil {
			t.Error(err)
		}
	}
	if data, _ := os.ReadFile(p.history()); !bytes.Contains(data, []byte(`"f":"heal"`)) {
		t.Error("the history has no healing")
	}
	log := filepath.Join(p.store, histories.Latest, histories.LogFolder, "sentinel-1.log")
	if data, err := os.ReadFile(log); !bytes.Contains(data, []byte("+monitor master")) {
		t.Errorf("the log of a sentinel is %.200q, %v", data, err)
	}
	if left := p.leftovers(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestKillNineLeavesAHistoryAndCleanRemovesTheRest kills a run the hard way.
func TestKillNineLeavesAHistoryAndCleanRemovesTheRest(t *testing.T) {
	needEngine(t)
	p := start(t)
	if err := p.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	var out, errs bytes.Buffer
	if code := (Program{}).execute(t.Context(), []string{"check", p.history()}, strings.NewReader(""), &out, &errs); code > exitUnknown {
		t.Errorf("check of the history so far: exit %d: %s", code, &errs)
	}
	if len(p.leftovers(t)) == 0 {
		t.Error("nothing was left behind: this test shows nothing")
	}
	if said := clean(t); !strings.Contains(said, "removed") {
		t.Errorf("clean said %q", said)
	}
	if left := p.leftovers(t); len(left) > 0 {
		t.Errorf("clean left behind: %v", left)
	}
}
