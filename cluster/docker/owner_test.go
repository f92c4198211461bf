//go:build unix

package docker

import (
	"maps"
	"os/exec"
	"strings"
	"testing"
)

func TestAnOwnerIsAliveUntilItsProcessEnds(t *testing.T) {
	if !alive(owner()) {
		t.Error("this process is not alive")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other := identity(cmd.Process.Pid)
	if !alive(other) {
		t.Errorf("%s is not alive", other)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for _, dead := range []string{other, owner() + "1", "", "x-1", "0-1", "-5-1"} {
		if alive(dead) {
			t.Errorf("%q is alive", dead)
		}
	}
}

func TestOnlyADeadRunOfThisMachineIsRemoved(t *testing.T) {
	ours := map[string]string{ownLabel: "1", runLabel: "r", hostLabel: machine(), ownerLabel: "0-1"}
	if owned(ours) {
		t.Error("what a dead run of this machine left stays")
	}
	for what, change := range map[string][2]string{
		"started by hand from our image":  {runLabel, ""},
		"a run of another machine":        {hostLabel, "feedfeedfeed"},
		"a run that is alive":             {ownerLabel, owner()},
		"of a version that names no host": {hostLabel, ""},
	} {
		labels := maps.Clone(ours)
		labels[change[0]] = change[1]
		if !owned(labels) {
			t.Errorf("%s is removed", what)
		}
	}
}

func TestTheEngineTakenIsTheOneNamed(t *testing.T) {
	const named = "tcp://10.0.0.1:2376"
	if err := isNamed(named, "unix:///var/run/docker.sock"); err == nil || !strings.Contains(err.Error(), named) {
		t.Errorf("another engine than the one named: error %v", err)
	}
	for _, name := range []string{named, ""} {
		if err := isNamed(name, named); err != nil {
			t.Errorf("named %q: %v", name, err)
		}
	}
}

// Port 1 of the loopback answers nobody: the engine at the usual socket must not
// take its place.
func TestAnEngineThatDoesNotAnswerIsNotReplaced(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	p, err := New(t.Context(), Config{})
	if err == nil {
		p.engine.close()
		t.Fatal("another engine was used")
	}
	if !strings.Contains(err.Error(), "DOCKER_HOST=tcp://127.0.0.1:1") {
		t.Errorf("the error does not name the engine: %v", err)
	}
}
