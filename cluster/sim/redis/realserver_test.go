package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// RealServer is a real redis-server that a test has started: alone, without
// persistence, in a directory of its own. It ends with the test.
//
// It is exported to the tests in package redis_test, which may import
// cluster/sim: scripts over whole nodes are compared there.
type RealServer struct {
	*RealConn
	Addr string
}

// StartRealServer starts the installed redis-server with more settings
// (--name value). Without one it skips the test. Any version from 7.0 on is
// compared: what newer ones do in another way is in versions_test.go.
func StartRealServer(t testing.TB, settings ...string) *RealServer {
	t.Helper()
	server := launch(t, settings...)
	server.version = versionOf(t, server.RealConn)
	if reply := server.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0"); reply != "OK" {
		t.Fatalf("active expiry stays on: %v", reply)
	}
	return server
}

// launch starts a server and does not wait until its dataset is loaded.
func launch(t testing.TB, settings ...string) *RealServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("no redis-server on this machine: the model is not compared with the real one (Debian: apt install redis-server)")
	}
	port := freePort(t)
	settings = append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		"--enable-debug-command", "yes", "--hz", "100", "--repl-diskless-sync", "no",
	}, settings...)
	command := exec.Command(program, settings...)
	command.Stdout, command.Stderr = io.Discard, os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	server := &RealServer{Addr: "127.0.0.1:" + port}
	server.RealConn = server.Dial(t)
	return server
}

func freePort(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

// Dial connects, for 5 s at most.
func (s *RealServer) Dial(t testing.TB) *RealConn {
	t.Helper()
	var conn net.Conn
	Await(t, "redis-server to listen", func() bool {
		var err error
		conn, err = net.DialTimeout("tcp", s.Addr, time.Second)
		return err == nil
	})
	t.Cleanup(func() { conn.Close() })
	c := &RealConn{t: t, conn: conn, in: bufio.NewReader(conn)}
	if s.RealConn != nil {
		c.version = s.version
	}
	return c
}

// Await waits until something holds, for 5 s at most.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited 5 s for %s", what)
		}
	}
}

// RealConn is one connection with a real server.
type RealConn struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	version version // of the server; none until StartRealServer has asked
}

// Do sends one command and answers the reply, as Keyspace.Do words it. A
// connection that breaks fails the test.
func (c *RealConn) Do(args ...string) any {
	c.t.Helper()
	return c.Pipeline(args)[0]
}

// Pipeline sends commands in one go: the server executes them without a
// pause in between.
func (c *RealConn) Pipeline(commands ...[]string) []any {
	c.t.Helper()
	var out strings.Builder
	for _, args := range commands {
		fmt.Fprintf(&out, "*%d\r\n", len(args))
		for _, arg := range args {
			fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c.conn, out.String()); err != nil {
		c.t.Fatalf("%q: %v", commands, err)
	}
	replies := make([]any, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = c.read(); err != nil {
			c.t.Fatalf("%q: %v", commands[i], err)
		}
	}
	return replies
}

var errProtocol = errors.New("not a RESP2 reply")

func (c *RealConn) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	rest := line[1:]
	switch line[0] {
	case '+':
		return rest, nil
	case '-':
		return Error(rest), nil
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil:
		return nil, err
	case n < 0:
		return nil, nil
	case line[0] == '$':
		content := make([]byte, n+2)
		_, err := io.ReadFull(c.in, content)
		return string(content[:n]), err
	case line[0] != '*':
		return nil, errProtocol
	}
	items := make([]any, n)
	for i := range items {
		if items[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return items, nil
}
