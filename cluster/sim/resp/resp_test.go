package resp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// server is a Redis for tests: a keyspace and the sessions that listen.
type server struct {
	keys     *redis.Keyspace
	sessions []*Session
	held     []func() // replies of SLOW, not yet given
}

type client struct {
	s   *server
	own *Session
}

func (c *client) Do(args []string, reply func(any)) {
	if args[0] == "SLOW" {
		c.s.held = append(c.s.held, func() { reply(Status("SLOW")) })
		return
	}
	r := c.s.keys.Do(time.Now(), redis.Master, args)
	receivers := 0
	for _, m := range r.Published {
		for _, s := range c.s.sessions {
			if slices.Contains(s.channels, m.Channel) {
				receivers++
				s.Publish(m.Channel, m.Payload)
			}
		}
	}
	switch text, isText := r.Reply.(string); {
	case len(r.Published) > 0:
		reply(receivers)
	case r.Status && isText:
		reply(Status(text))
	default:
		reply(r.Reply)
	}
}

func (c *client) Listen(string, bool) {}

func (c *client) Identity() (version, mode, role string) { return "7.0.15", "standalone", "master" }

func (s *server) connect(send func([]byte)) *Session {
	c := &client{s: s}
	c.own = NewSession(int64(len(s.sessions)+3), c, send)
	s.sessions = append(s.sessions, c.own)
	return c.own
}

// wire is commands as a client library writes them.
func wire(commands ...string) []byte {
	var b bytes.Buffer
	for _, command := range commands {
		args := words(command)
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	return b.Bytes()
}

// words splits at blanks, but for what stands in '…'.
func words(command string) (out []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// realServer starts a redis-server and connects to it.
func realServer(t *testing.T) func() net.Conn {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "redis.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", filepath.Dir(socket))
	if err := cmd.Start(); err != nil {
		t.Fatalf("redis-server (apt-get install redis-server): %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return func() net.Conn {
		for end := time.Now().Add(10 * time.Second); ; {
			c, err := net.Dial("unix", socket)
			if err == nil {
				t.Cleanup(func() { _ = c.Close() })
				return c
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
}

// conversations are played here and on a real server, and must be answered alike
// to the byte.
var conversations = []struct {
	name     string
	commands []string
}{
	{"strings", []string{"PING", "PING hello", "SET k v", "GET k", "GET none", "SET k v NX", "SET k w GET", "DEL k", "INCR n", "INCR n", "TTL n", "ECHO ''", "MGET n none"}},
	{"errors", []string{"NOSUCH a b", "GET", "INCR", "SET k v XX YY", "LPUSH l a", "GET l"}},
	{"scripts", []string{"EVAL 'return 1' 0", "EVAL 'return redis.call(\"SET\",KEYS[1],ARGV[1])' 1 a b", "EVAL 'return {1,\"two\",false,{3}}' 0", "SCRIPT LOAD 'return 7'",
		"EVALSHA 9aaab6f08a9d8a2a9f9e5a7c1d6d6c1f5c7f0c33 0", "EVAL 'return redis.status_reply(\"FINE\")' 0", "EVAL 'return redis.error_reply(\"MY bad\")' 0", "SCRIPT EXISTS abc"}},
	{"hashes and sets", []string{"HSET h a 1 b 2", "HGETALL h", "HGETALL none", "SADD s x", "SMEMBERS s", "ZADD z 1.5 m", "ZSCORE z m", "ZSCORE z none", "ZADD z 3 n", "ZSCORE z n", "HMGET h a c", "TYPE h"}},
	{"a connection", []string{"CLIENT SETNAME lock", "CLIENT GETNAME", "SELECT 0", "AUTH x", "AUTH default x", "CLIENT NONSENSE", "RESET", "CLIENT GETNAME", "HELLO 4", "HELLO 2 NONSENSE"}},
	{"a transaction", []string{"MULTI", "SET t 1", "INCR t", "GET none", "EXEC", "GET t", "EXEC", "DISCARD", "MULTI", "MULTI", "DISCARD", "MULTI", "EXEC"}},
	{"an error in a transaction", []string{"SET t x", "MULTI", "INCR t", "SET t y", "EXEC", "GET t"}},
	{"subscriptions", []string{"SUBSCRIBE a b", "PING", "PING x", "GET k", "UNSUBSCRIBE a", "UNSUBSCRIBE", "UNSUBSCRIBE", "GET none"}},
	{"its own messages", []string{"SUBSCRIBE a", "UNSUBSCRIBE a", "PUBLISH a x"}},
	{"the end", []string{"PING", "QUIT"}},
}

func TestConversationsAreThoseOfARealServer(t *testing.T) {
	dial := realServer(t)
	for _, version := range []string{"2", "3"} {
		for _, tt := range conversations {
			t.Run(tt.name+", RESP"+version, func(t *testing.T) {
				real := dial()
				real.SetDeadline(time.Now().Add(10 * time.Second))
				reader := bufio.NewReader(real)
				ask := func(command string, replies int) []byte { return realReply(t, real, reader, command, replies) }
				ask("FLUSHALL", 1)
				var got bytes.Buffer
				s := (&server{keys: redis.New()}).connect(func(b []byte) { got.Write(b) })
				if version == "3" {
					ask("HELLO 3", 1)
					s.Receive(wire("HELLO 3"))
				}
				for _, command := range tt.commands {
					got.Reset()
					s.Receive(wire(command))
					replies := 0
					for ours := bufio.NewReader(bytes.NewReader(got.Bytes())); replies == 0 || ours.Buffered() > 0; replies++ {
						readReply(t, ours)
					}
					if want := ask(command, replies); !bytes.Equal(got.Bytes(), want) {
						t.Errorf("%s\n  answered %q\n  Redis    %q", command, got.Bytes(), want)
					}
				}
			})
		}
	}
}

// realReply is what a real server says to a command: n replies. One too many
// would be taken for the next command's, and found there.
func realReply(t *testing.T, c net.Conn, r *bufio.Reader, command string, n int) []byte {
	t.Helper()
	if _, err := c.Write(wire(command)); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for range n {
		all = append(all, readReply(t, r)...)
	}
	return all
}

// readReply reads one reply.
func readReply(t *testing.T, r *bufio.Reader) []byte {
	t.Helper()
	line, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v after %q", err, line)
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	switch line[0] {
	case '$':
		if n >= 0 {
			rest := make([]byte, n+2)
			if _, err := io.ReadFull(r, rest); err != nil {
				t.Fatal(err)
			}
			return append(line, rest...)
		}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			line = append(line, readReply(t, r)...)
		}
	}
	return line
}

func TestHelloSwitchesTheProtocol(t *testing.T) {
	var got bytes.Buffer
	s := (&server{keys: redis.New()}).connect(func(b []byte) { got.Write(b) })
	s.Receive(wire("HELLO", "HELLO 3 AUTH default x SETNAME n", "GET none", "CLIENT GETNAME"))
	const fields = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:3\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	want := "*14\r\n" + fmt.Sprintf(fields, 2) + "%7\r\n" + fmt.Sprintf(fields, 3) + "_\r\n$1\r\nn\r\n"
	if got.String() != want {
		t.Errorf("answered %q\nwant     %q", got.String(), want)
	}
}

func TestMessagesReachThoseWhoListen(t *testing.T) {
	srv := &server{keys: redis.New()}
	var two, three, other bytes.Buffer
	a := srv.connect(func(b []byte) { two.Write(b) })
	b := srv.connect(func(b []byte) { three.Write(b) })
	c := srv.connect(func(b []byte) { other.Write(b) })
	a.Receive(wire("SUBSCRIBE ch"))
	b.Receive(wire("HELLO 3", "SUBSCRIBE ch"))
	two.Reset()
	three.Reset()
	c.Receive(wire("PUBLISH ch hi", "PUBLISH none hi"))
	if got, want := two.String(), "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"; got != want {
		t.Errorf("RESP2: %q", got)
	}
	if got, want := three.String(), ">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"; got != want {
		t.Errorf("RESP3: %q", got)
	}
	if got := other.String(); got != ":2\r\n:0\r\n" {
		t.Errorf("the publisher was told %q", got)
	}
}

func TestRepliesKeepTheirOrderBehindASlowOne(t *testing.T) {
	srv := &server{keys: redis.New()}
	var got bytes.Buffer
	s := srv.connect(func(b []byte) { got.Write(b) })
	s.Receive(wire("SET k 1", "SLOW", "INCR k", "SLOW", "GET k"))
	if got.String() != "+OK\r\n" {
		t.Errorf("before the slow one: %q", got.String())
	}
	srv.held[0]()
	srv.held[1]()
	if want := "+OK\r\n+SLOW\r\n:2\r\n+SLOW\r\n$1\r\n2\r\n"; got.String() != want {
		t.Errorf("answered %q, want %q", got.String(), want)
	}
}

func TestCommandsMayComeInPieces(t *testing.T) {
	want := [][]string{{"SET", "k", "a\r\nb"}, {"PING"}, {"GET", ""}}
	data := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nPING\r\n\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n")
	for size := 1; size <= len(data); size++ {
		var p Parser
		var got [][]string
		for piece := range slices.Chunk(data, size) {
			p.Feed(piece)
			for {
				args, err := p.Next()
				if err != nil {
					t.Fatal(err)
				}
				if args == nil {
					break
				}
				got = append(got, args)
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("in pieces of %d: %q", size, got)
		}
	}
}

func TestWhatIsNoCommandEndsTheConnection(t *testing.T) {
	for _, data := range []string{"*x\r\n", "*1\r\nGET\r\n", "*1\r\n$-5\r\n", "*1\r\n$99999999999\r\n", "*99999999\r\n", strings.Repeat("x", mostInline+1), "*" + strings.Repeat("1", 40)} {
		var got bytes.Buffer
		s := (&server{keys: redis.New()}).connect(func(b []byte) { got.Write(b) })
		s.Receive([]byte(data))
		if !s.Closed() || !strings.HasPrefix(got.String(), "-ERR Protocol error") {
			t.Errorf("%.20q: closed %v, said %q", data, s.Closed(), got.String())
		}
		before := got.Len()
		s.Receive(wire("PING"))
		if got.Len() != before {
			t.Errorf("%.20q: it goes on", data)
		}
	}
}

func FuzzParser(f *testing.F) {
	f.Add(wire("SET k v", "PING"))
	f.Add([]byte("PING\r\n*1\r\n$4\r\nPING\r\n"))
	f.Add([]byte("*-1\r\n$"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(size int) (all [][]string, bad error) {
			var p Parser
			for piece := range slices.Chunk(data, size) {
				p.Feed(piece)
				for {
					args, err := p.Next()
					if err != nil {
						return all, err
					}
					if args == nil {
						break
					}
					all = append(all, args)
				}
			}
			return all, nil
		}
		if len(data) == 0 {
			return
		}
		whole, bad := read(len(data))
		pieces, worse := read(1)
		if !slices.EqualFunc(whole, pieces, slices.Equal) || errors.Is(bad, ErrProtocol) != errors.Is(worse, ErrProtocol) {
			t.Errorf("%q is %q, %v at once and %q, %v in pieces", data, whole, bad, pieces, worse)
		}
	})
}
