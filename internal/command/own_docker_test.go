//go:build unix && !sim

package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/protocol/child"
)

// A PHP program follows real Sentinels through its proxies, which tell it where
// each other are, and is killed and started again with its worker.
func TestAProgramOfOnesOwnRunsOnRealServers(t *testing.T) {
	needEngine(t)
	if err := exec.Command("php", "-r", "exit(class_exists('Redis') ? 0 : 1);").Run(); err != nil {
		t.Skipf("no PHP with phpredis: %v", err)
	}
	program, err := filepath.Abs("../../examples/php/lock.php")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(t.TempDir(), "store")
	cmd := exec.CommandContext(t.Context(), self, "run", "--cluster=docker", "--exec=php '"+program+"'", "--topology=sentinel",
		"--nemesis=crash", "--time-limit=8s", "--concurrency=4", "--seed=5", "--store="+store)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// A crash between stock and order leaks units, whatever the lock is: then the
	// exit code is 1. The lock itself holds.
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exitInvalid || strings.Contains(out.String(), "double-hold:") {
		t.Errorf("%v\n%s", err, out.String())
	}
	text, err := os.ReadFile(filepath.Join(store, histories.Latest, histories.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(`"type":"ok","f":"acquire"`)); n < 50 {
		t.Errorf("%d grants: too few to mean anything", n)
	}
	if !bytes.Contains(text, []byte(`"f":"crash"`)) {
		t.Error("nobody was killed")
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		if env, err := os.ReadFile(name); err == nil && strings.Contains(string(env), child.Mark+"=") && strings.Contains(string(env), asProgram+"=1") {
			t.Errorf("left running: %s", name)
		}
	}
}
