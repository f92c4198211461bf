//go:build unix

package docker

import (
	"io"
	"strings"
	"testing"
)

func TestLogsAreWithoutScripts(t *testing.T) {
	const log = "9:M ready\nbegin 7-1\nrules\nend 7-2 0\nend 7-1 0\n9:M a replica asks\nbegin 7-3\ncut off"
	got, err := io.ReadAll(withoutScripts(strings.NewReader(log)))
	if want := "9:M ready\n9:M a replica asks\n"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
