package docker

import (
	"os/exec"
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
