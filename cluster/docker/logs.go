//go:build unix

package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/cluster"
)

var _ cluster.Logger = (*system)(nil)

// Logs implements cluster.Logger. What scripts of ours printed there is left
// out.
func (c *system) Logs(ctx context.Context, keep func(server string, log io.Reader) error) error {
	for _, n := range c.nodes() {
		if err := n.log(ctx, c.lent, keep); err != nil {
			return fmt.Errorf("log of %s: %w", n.name, err)
		}
	}
	return nil
}

func (n *node) log(ctx context.Context, since time.Time, keep func(string, io.Reader) error) error {
	raw, err := n.engine.api.ContainerLogs(ctx, n.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Since: strconv.FormatInt(since.Unix(), 10),
	})
	if err != nil {
		return err
	}
	defer raw.Close()
	plain, framed := io.Pipe()
	defer plain.Close()
	go func() {
		_, err := stdcopy.StdCopy(framed, framed, raw)
		framed.CloseWithError(err)
	}()
	return keep(n.name, withoutScripts(plain))
}

// withoutScripts drops what process 1 of a container printed between "begin"
// and "end" of a script: see image/init.sh.
func withoutScripts(log io.Reader) io.Reader {
	kept, w := io.Pipe()
	go func() {
		in := bufio.NewReader(log)
		script := ""
		for {
			line, err := in.ReadString('\n')
			switch word, id, _ := strings.Cut(strings.TrimSpace(line), " "); {
			case script == "" && word == "begin" && id != "":
				script = id
			case script != "" && word == "end" && strings.HasPrefix(id, script+" "):
				script = ""
			case script == "":
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
			if err != nil {
				w.CloseWithError(err) // io.EOF as a rule
				return
			}
		}
	}()
	return kept
}
