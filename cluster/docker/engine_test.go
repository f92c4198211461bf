//go:build unix

package docker

import (
	"errors"
	"strings"
	"testing"
)

func TestMissingEngineIsOneErrorWithAHint(t *testing.T) {
	for problem, hint := range map[string]string{
		"dial unix /var/run/docker.sock: connect: permission denied": "docker group",
		"dial unix /var/run/docker.sock: no such file":               "start Docker",
	} {
		err := noEngine(errors.New(problem + "\nand a second line"))
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[1], "hint: ") || !strings.Contains(lines[1], hint) {
			t.Errorf("%q", err)
		}
	}
}
