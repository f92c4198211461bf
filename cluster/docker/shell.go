//go:build unix

package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// shell is process 1 of a container, which runs the scripts that it is sent:
// image/init.sh. It costs a hundredth of what docker exec does, and the faults
// of this package are aimed at windows of a few hundred milliseconds.
type shell struct {
	attach func(ctx context.Context) (*client.HijackedResponse, error) // to the process's input and output

	mu   sync.Mutex // one script at a time
	conn *client.HijackedResponse
	pipe *io.PipeReader // its output, out of the engine's frames
	out  *bufio.Reader  // over pipe
	gone chan struct{}  // closed when the connection has ended, with its container perhaps
	next int
}

var (
	errStatus   = errors.New("exit status")
	errNotBegun = errors.New("the connection ended before the script began")
)

// run runs a script and answers what it printed. A script that fails is an
// error with its output. A connection to a container that died since may look
// alive until it is used: then the script is sent once more.
func (s *shell) run(ctx context.Context, script string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; ; again = false {
		out, err := s.try(ctx, script)
		if err == nil || errors.Is(err, errStatus) {
			return out, err
		}
		s.drop() // whatever comes of it later is not an answer to the next script
		if !again || !errors.Is(err, errNotBegun) {
			return out, err
		}
	}
}

func (s *shell) try(ctx context.Context, script string) (string, error) {
	if err := s.connect(ctx); err != nil {
		return "", err
	}
	conn := s.conn.Conn
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	// Between scripts the connection may be silent for as long as it likes.
	defer func() { _ = conn.SetDeadline(time.Time{}) }()
	s.next++
	id := fmt.Sprintf("%d-%d", time.Now().UnixNano(), s.next)
	if _, err := io.WriteString(conn, script+"\nrun "+id+"\n"); err != nil {
		return "", err
	}
	return s.answer(id)
}

// answer reads the answer to the script with that id, over what is left of
// earlier ones.
func (s *shell) answer(id string) (string, error) {
	var out strings.Builder
	begun := false
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			if !begun && errors.Is(err, io.EOF) {
				err = errNotBegun
			}
			return out.String(), fmt.Errorf("no answer to a script: %w", err)
		}
		status, ended := strings.CutPrefix(strings.TrimSpace(line), "end "+id+" ")
		switch {
		case strings.TrimSpace(line) == "begin "+id:
			begun = true
		case !begun:
		case ended && status != "0":
			return out.String(), fmt.Errorf("%w %s: %s", errStatus, status, firstLine(out.String()))
		case ended:
			return out.String(), nil
		default:
			out.WriteString(line)
		}
	}
}

// attachTo attaches to process 1 of a container.
func (e *engine) attachTo(container string) func(context.Context) (*client.HijackedResponse, error) {
	return func(ctx context.Context) (*client.HijackedResponse, error) {
		got, err := e.api.ContainerAttach(ctx, container, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true})
		return &got.HijackedResponse, err
	}
}

// connect makes sure that there is a connection.
func (s *shell) connect(ctx context.Context) error {
	if s.conn != nil {
		select {
		case <-s.gone:
			s.drop()
		default:
			return nil
		}
	}
	got, err := s.attach(ctx)
	if err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	// The engine wraps the output in frames.
	r, w := io.Pipe()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, err := stdcopy.StdCopy(w, io.Discard, got.Reader)
		w.CloseWithError(errors.Join(err, io.EOF))
	}()
	s.conn, s.pipe, s.out, s.gone = got, r, bufio.NewReader(r), gone
	return nil
}

func (s *shell) drop() {
	if s.conn != nil {
		s.conn.Close()
		_ = s.pipe.Close()
		s.conn, s.pipe, s.out = nil, nil, nil
	}
}

func (s *shell) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// sh runs a script in the node's container.
func (n *node) sh(ctx context.Context, script string) (string, error) {
	out, err := n.shell.run(ctx, script)
	if err != nil {
		return out, fmt.Errorf("%s: %w", n.name, err)
	}
	return out, nil
}
