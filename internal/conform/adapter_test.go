//go:build unix

package conform

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/protocol"
)

// adapterMode is the environment variable that makes the test program an
// adapter, with a mistake if it says which.
const adapterMode = "LOCKCHECK_TEST_ADAPTER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(adapterMode); mode != "" {
		serveAdapter(mode)
		return
	}
	os.Exit(m.Run())
}

// adapter is a lease lock on one Redis, as people write it.
type adapter struct {
	mode  string
	hello protocol.Hello
	conn  net.Conn
	lines *bufio.Reader
	count int
	renew map[string]chan struct{} // ends the renewals of a token
}

func serveAdapter(mode string) {
	a := &adapter{mode: mode, renew: map[string]chan struct{}{}}
	stdin := bufio.NewReader(os.Stdin)
	next := func(v any) bool {
		line, err := stdin.ReadBytes('\n')
		return err == nil && json.Unmarshal(line, v) == nil
	}
	next(&a.hello)
	can := `"extend"`
	if strings.HasPrefix(mode, "watchdog") {
		can = `"extend","renews","lost"`
	}
	fmt.Printf("{\"ready\":\"adapter 1\",\"can\":[%s]}\n", can)
	for {
		var r protocol.Request
		if !next(&r) {
			return
		}
		fmt.Printf("{\"id\":%d,%s}\n", r.ID, a.answer(r))
	}
}

const ifMine = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call(%s) end return 0"

func (a *adapter) answer(r protocol.Request) string {
	key := a.hello.Prefix + r.Key
	if a.mode == "no prefix" {
		key = r.Key
	}
	switch r.Do {
	case protocol.Acquire:
		return a.acquire(key, r.Key)
	case protocol.Extend:
		return done("gone")(a.script("'pexpire', KEYS[1], ARGV[2]", key, r.Token))
	}
	if stop := a.renew[r.Token]; stop != nil && a.mode != "watchdog that goes on" {
		close(stop)
	}
	switch a.mode {
	case "del":
		return done("gone")(a.redis("DEL", key))
	case "get, then del":
		if got, err := a.redis("GET", key); err != nil || got != r.Token {
			return done("gone")(":0", err)
		}
		return done("gone")(a.redis("DEL", key))
	}
	return done("gone")(a.script("'del', KEYS[1]", key, r.Token))
}

func (a *adapter) script(call, key, token string) (string, error) {
	return a.redis("EVAL", fmt.Sprintf(ifMine, call), "1", key, token, fmt.Sprint(a.hello.TTL))
}

func (a *adapter) acquire(key, name string) string {
	a.count++
	token := fmt.Sprintf("%d-%d", a.hello.Worker, a.count)
	var reply string
	var err error
	switch a.mode {
	case "setnx, then expire":
		if reply, err = a.redis("SETNX", key, token); reply == ":1" {
			reply, err = a.redis("PEXPIRE", key, fmt.Sprint(a.hello.TTL))
		}
	case "forgets the ttl":
		reply, err = a.redis("SET", key, token, "NX")
	case "takes what is taken":
		reply, err = a.redis("SET", key, token, "PX", fmt.Sprint(a.hello.TTL))
	default:
		reply, err = a.redis("SET", key, token, "NX", "PX", fmt.Sprint(a.hello.TTL))
	}
	if err == nil && reply != "" && reply != ":0" && strings.HasPrefix(a.mode, "watchdog") {
		a.watch(key, name, token)
	}
	if err != nil && a.mode == "hopes" {
		reply, err = "OK", nil
	}
	if reply == "" {
		reply = ":0"
	}
	out := done("busy")(reply, err)
	if strings.HasPrefix(out, `"ok"`) {
		out += `,"token":"` + token + `"`
	}
	return out
}

// watch renews in the background, by a connection of its own.
func (a *adapter) watch(key, name, token string) {
	stop := make(chan struct{})
	a.renew[token] = stop
	own := &adapter{mode: a.mode, hello: a.hello}
	go func() {
		ttl := time.Duration(a.hello.TTL) * time.Millisecond
		confirmed := time.Now()
		for {
			select {
			case <-stop:
				return
			case <-time.After(ttl / 3):
			}
			sent := time.Now()
			var reply string
			var err error
			if a.mode == "watchdog that revives" {
				reply, err = own.redis("SET", key, token, "PX", fmt.Sprint(a.hello.TTL))
				reply = strings.Replace(reply, "OK", ":1", 1)
			} else {
				reply, err = own.script("'pexpire', KEYS[1], ARGV[2]", key, token)
			}
			switch {
			case err == nil && reply == ":1":
				confirmed = sent
				fmt.Printf("{\"note\":\"renewed\",\"key\":%q,\"token\":%q}\n", name, token)
			case err == nil || time.Since(confirmed) > ttl*3/4:
				fmt.Printf("{\"note\":\"lost\",\"key\":%q,\"token\":%q}\n", name, token)
				return
			}
		}
	}()
}

// done is the outcome that a reply means; otherwise is that of ":0".
func done(otherwise string) func(reply string, err error) string {
	return func(reply string, err error) string {
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "dial"):
			return fmt.Sprintf(`"refused":%q`, err)
		case err != nil:
			return fmt.Sprintf(`"unknown":%q`, err)
		case reply == ":0":
			return `"` + otherwise + `":true`
		}
		return `"ok":true`
	}
}

// redis sends one command. The reply is as on the wire, but for the length of
// a bulk string and the + of a status.
func (a *adapter) redis(args ...string) (string, error) {
	if a.conn == nil {
		conn, err := net.DialTimeout("tcp", a.hello.Redis[0], time.Second)
		if err != nil {
			return "", err
		}
		a.conn, a.lines = conn, bufio.NewReader(conn)
	}
	reply, err := a.exchange(args)
	if err != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
	return reply, err
}

func (a *adapter) exchange(args []string) (string, error) {
	_ = a.conn.SetDeadline(time.Now().Add(time.Duration(a.hello.TTL) * 45 * time.Millisecond / 100))
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := a.conn.Write([]byte(b.String())); err != nil {
		return "", err
	}
	line, err := a.lines.ReadString('\n')
	line = strings.TrimSpace(line)
	switch {
	case err != nil:
		return "", err
	case line == "$-1":
		return "", nil
	case line[0] == '$':
		line, err = a.lines.ReadString('\n')
		return strings.TrimSpace(line), err
	case line[0] == '-':
		return "", fmt.Errorf("server says %s", line)
	}
	return strings.TrimPrefix(line, "+"), nil
}
