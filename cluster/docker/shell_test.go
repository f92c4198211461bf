//go:build unix

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// shellServer answers one script as image/init.sh does, or hangs up.
type shellServer func(conn net.Conn, script []string, id string)

func answers(conn net.Conn, script []string, id string) {
	frame(conn, fmt.Sprintf("begin %s\n%s\nend %s 0\n", id, strings.Join(script, "; "), id))
}

func hangsUp(net.Conn, []string, string) {}

func diesAtIt(conn net.Conn, _ []string, id string) { frame(conn, "begin "+id+"\n") }

// frame writes output as the engine frames it.
func frame(w io.Writer, out string) {
	n := len(out)
	header := []byte{byte(stdcopy.Stdout), 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	_, _ = w.Write(append(header, out...)) // a pipe: the test sees what is missing
}

func TestAScriptIsSentAgainIfItSurelyHasNotBegun(t *testing.T) {
	for _, c := range []struct {
		name      string
		processes []shellServer // of one attachment after the other
		want      string
		err       error
		attached  int
	}{
		{"answered", []shellServer{answers}, "ls\n", nil, 1},
		{"the container had died", []shellServer{hangsUp, answers}, "ls\n", nil, 2},
		{"it keeps dying", []shellServer{hangsUp, hangsUp, answers}, "", errNotBegun, 2},
		{"died at the script", []shellServer{diesAtIt, answers}, "", io.EOF, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			attached := 0
			s := shell{attach: func(context.Context) (*client.HijackedResponse, error) {
				p := c.processes[attached]
				attached++
				here, there := net.Pipe()
				go func() {
					defer there.Close()
					var script []string
					for in := bufio.NewScanner(there); in.Scan(); {
						if id, ok := strings.CutPrefix(in.Text(), "run "); ok {
							p(there, script, id)
							return
						}
						script = append(script, in.Text())
					}
				}()
				return &client.HijackedResponse{Conn: here, Reader: bufio.NewReader(here)}, nil
			}}
			defer s.close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			out, err := s.run(ctx, "ls")
			if out != c.want || !errors.Is(err, c.err) {
				t.Errorf("answered %q, %v, want %q, %v", out, err, c.want, c.err)
			}
			if attached != c.attached {
				t.Errorf("attached %d times, want %d", attached, c.attached)
			}
		})
	}
}
