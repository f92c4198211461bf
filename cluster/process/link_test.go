//go:build unix

package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/internal/wait"
)

// echo is a server that repeats each line, and remembers it.
type echo struct {
	net.Listener
	mu    sync.Mutex
	lines []string
}

func newEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go e.serve(c)
		}
	}()
	return e
}

func (e *echo) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		e.mu.Lock()
		e.lines = append(e.lines, line)
		e.mu.Unlock()
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

// got waits until n lines have come.
func (e *echo) got(t *testing.T, n int) []string {
	t.Helper()
	err := wait.Until(t.Context(), 5*time.Second, func(context.Context) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.lines) < n {
			return errors.New("too few lines")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.lines...)
}

// rig is a connection over a link to an echo server.
func rig(t *testing.T, seed uint64) (*link, net.Conn, *echo) {
	e := newEcho(t)
	l := &link{name: "redis-1", dial: e.Addr().String(), rand: rand.New(rand.NewPCG(seed, 0))}
	c, err := l.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return l, c, e
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if n, err := io.WriteString(c, s); n != len(s) || err != nil {
		t.Fatalf("write: %d, %v", n, err)
	}
}

// answer reads one line, for limit at most.
func answer(c net.Conn, limit time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(limit))
	b := make([]byte, 64)
	n, err := c.Read(b)
	return string(b[:n]), err
}

func wantAnswer(t *testing.T, c net.Conn, want string) {
	t.Helper()
	if got, err := answer(c, 5*time.Second); got != want || err != nil {
		t.Errorf("answer %q, %v; want %q", got, err, want)
	}
}

func wantSilence(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := answer(c, 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("answer %q, %v; want none in time", got, err)
	}
}

func TestWholeLinkIsTransparent(t *testing.T) {
	_, c, _ := rig(t, 1)
	send(t, c, "a\n")
	wantAnswer(t, c, "a\n")
}

func TestWhatIsSentIntoACutArrivesAfterHealing(t *testing.T) {
	l, c, e := rig(t, 1)
	l.cut(Cut{Out: true})
	send(t, c, "a\n")
	send(t, c, "b\n")
	wantSilence(t, c)
	if lines := e.got(t, 0); len(lines) > 0 {
		t.Errorf("%q came through the cut", lines)
	}
	l.cut(Cut{})
	if lines := e.got(t, 2); lines[0] != "a\n" || lines[1] != "b\n" {
		t.Errorf("after healing came %q", lines)
	}
	answers := make([]byte, len("a\nb\n"))
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(c, answers); err != nil || string(answers) != "a\nb\n" {
		t.Errorf("answers %q, %v", answers, err)
	}
}

func TestAnAnswerIsHeldByACutAndReadAfterHealing(t *testing.T) {
	l, c, e := rig(t, 1)
	l.cut(Cut{In: true})
	send(t, c, "a\n")
	e.got(t, 1) // the server has it, and has answered
	wantSilence(t, c)
	l.cut(Cut{})
	wantAnswer(t, c, "a\n")
}

// A read that was waiting before the cut must not let the answer through.
func TestACutHoldsWhatAReadWasAlreadyWaitingFor(t *testing.T) {
	l, c, _ := rig(t, 1)
	type result struct {
		line string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		line, err := answer(c, 300*time.Millisecond)
		got <- result{line, err}
	}()
	l.cut(Cut{In: true})
	send(t, c, "a\n")
	if r := <-got; !errors.Is(r.err, os.ErrDeadlineExceeded) {
		t.Errorf("read %q, %v through the cut", r.line, r.err)
	}
	l.cut(Cut{})
	wantAnswer(t, c, "a\n")
}

// TCP sends again what was not acknowledged, even for a connection that its
// program has closed: the request that timed out may act yet.
func TestARequestMayArriveAfterItsSenderGaveUpOrNever(t *testing.T) {
	arrived := 0
	const tries = 40
	for seed := range uint64(tries) {
		l, c, e := rig(t, seed)
		l.cut(Cut{Out: true})
		send(t, c, "late\n")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		l.cut(Cut{})
		closed := wait.Until(t.Context(), 5*time.Second, func(context.Context) error {
			lc := c.(*linkConn)
			lc.mu.Lock()
			defer lc.mu.Unlock()
			if lc.sent != nil {
				return errors.New("not flushed yet")
			}
			return nil
		})
		if closed != nil {
			t.Fatal(closed)
		}
		// What was delivered before the connection closed is there soon.
		if wait.Until(t.Context(), 30*time.Millisecond, func(context.Context) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			if len(e.lines) == 0 {
				return errors.New("nothing")
			}
			return nil
		}) == nil {
			arrived++
		}
	}
	if arrived < tries/5 || arrived > tries*4/5 {
		t.Errorf("%d of %d arrived late, want about half", arrived, tries)
	}
}

func TestACutLinkRefusesNobodyAndAnswersNobody(t *testing.T) {
	l, _, _ := rig(t, 1)
	for _, c := range []Cut{{Out: true}, {In: true}} {
		l.cut(c)
		if l.reachable(t.Context(), 30*time.Millisecond) {
			t.Errorf("connected through %+v", c)
		}
	}
	time.AfterFunc(20*time.Millisecond, func() { l.cut(Cut{}) })
	if !l.reachable(t.Context(), 5*time.Second) {
		t.Error("a connection that waited through the cut is not made after healing")
	}
}

func TestALostRequestNeverArrivesAndALostReplyDoesNotComeBack(t *testing.T) {
	for _, loss := range []Cut{{LossOut: 1}, {LossIn: 1}} {
		l, c, e := rig(t, 1)
		l.cut(loss)
		send(t, c, "a\n")
		wantSilence(t, c)
		l.cut(Cut{})
		wantSilence(t, c) // that connection is done for
		if arrived := len(e.got(t, 0)) > 0; arrived != (loss.LossIn == 1) {
			t.Errorf("%+v: request arrived: %v", loss, arrived)
		}
		if l.lost.Load() != 1 {
			t.Errorf("%+v: %d packets counted as lost", loss, l.lost.Load())
		}
	}
}

func TestClosingEndsAStalledRead(t *testing.T) {
	l, c, _ := rig(t, 1)
	l.cut(Cut{In: true})
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 8))
		done <- err
	}()
	_ = c.Close()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a closed connection was read")
		}
	case <-time.After(5 * time.Second):
		t.Error("the read does not end")
	}
}
