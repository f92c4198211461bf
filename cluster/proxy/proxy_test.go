package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// echo serves lines until the test ends.
func echo(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewReader(c)
				for {
					line, err := lines.ReadString('\n')
					if err != nil || line == "bye\n" {
						return
					}
					fmt.Fprint(c, "echo ", line)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// front puts a proxy before a server.
func front(t testing.TB, server string, tap func() Tap) (*Proxy, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Tap: tap, Dial: func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", server) }}
	done := make(chan error)
	go func() { done <- p.Serve(l) }()
	t.Cleanup(func() {
		_ = l.Close()
		p.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("serving ended with %v", err)
		}
	})
	return p, l.Addr().String()
}

func dial(t testing.TB, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c, bufio.NewReader(c)
}

func TestAProxyPassesWhatComes(t *testing.T) {
	_, addr := front(t, echo(t), nil)
	c, lines := dial(t, addr)
	for i := range 100 {
		fmt.Fprintf(c, "line %d\n", i)
		if got, err := lines.ReadString('\n'); err != nil || got != fmt.Sprintf("echo line %d\n", i) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	fmt.Fprint(c, "bye\n")
	if got, err := lines.ReadString('\n'); err == nil {
		t.Errorf("after the server's end: %q", got)
	}
}

func TestATapChangesAndLosesWhatPasses(t *testing.T) {
	var lost atomic.Int64
	_, addr := front(t, echo(t), func() Tap {
		return Tap{
			Request: func(p []byte) []byte {
				if strings.HasPrefix(string(p), "lose") {
					lost.Add(1)
					return nil
				}
				return p
			},
			Reply: func(p []byte) []byte { return []byte(strings.ReplaceAll(string(p), "echo", "heard")) },
		}
	})
	c, lines := dial(t, addr)
	fmt.Fprint(c, "lose this\n")
	for lost.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Fprint(c, "that\n")
	if got, err := lines.ReadString('\n'); err != nil || got != "heard that\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAServerThatIsNotThereAndOneThatDiesResetTheirClients(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	_, addr := front(t, l.Addr().String(), nil)
	if c, err := net.Dial("tcp", addr); err == nil { // else it was reset at once
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if n, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a server that is not there says %d bytes, %v", n, err)
		}
		_ = c.Close()
	}

	p, addr := front(t, echo(t), nil)
	c, lines := dial(t, addr)
	fmt.Fprint(c, "a\n")
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	if got, err := lines.ReadString('\n'); err == nil {
		t.Errorf("after a reset: %q", got)
	}
}
