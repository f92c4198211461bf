//go:build unix

package docker

import (
	"strings"
	"testing"
)

func TestConnectionsAreFoundByTheNameOfTheirHost(t *testing.T) {
	const list = "id=3 addr=10.0.0.9:1 name=worker-0 db=0\nid=4 addr=10.0.0.9:2 name= db=0\n" +
		"id=5 addr=10.0.0.9:3 name=worker-10 db=0\nid=6 addr=10.0.0.9:4 name=sentinel-cmd db=0\n"
	for name, test := range map[string]struct {
		of   []*host
		want string
	}{
		"of all workers": {nil, "3 5"},
		"of one host":    {[]*host{{name: "worker-10"}}, "5"},
		"of no host":     {[]*host{{name: "worker-1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(connectionsOf(list, test.of), " "); got != test.want {
				t.Errorf("connections %q, want %q", got, test.want)
			}
		})
	}
}
