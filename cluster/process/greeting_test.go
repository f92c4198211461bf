//go:build unix

package process

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/iotest"
)

// slowConn answers in the pieces that its reader gives.
type slowConn struct {
	net.Conn
	answer io.Reader
	sent   bytes.Buffer
}

func (c *slowConn) Write(p []byte) (int, error) { return c.sent.Write(p) }
func (c *slowConn) Read(p []byte) (int, error)  { return c.answer.Read(p) }

func TestAConnectionIsNamedAheadOfItsFirstRequest(t *testing.T) {
	for name, pieces := range map[string]func(io.Reader) io.Reader{
		"in one packet": func(r io.Reader) io.Reader { return r },
		"byte by byte":  iotest.OneByteReader,
	} {
		t.Run(name, func(t *testing.T) {
			raw := &slowConn{answer: pieces(bytes.NewReader([]byte("+OK\r\n$1\r\nx\r\n+OK\r\n")))}
			c := &linkConn{Conn: raw, link: &link{}, greeting: greeting("worker-3")}
			for _, request := range []string{"GET k\r\n", "SET k x\r\n"} {
				if n, err := c.Write([]byte(request)); n != len(request) || err != nil {
					t.Fatalf("wrote %d bytes, %v", n, err)
				}
			}
			if got, want := raw.sent.String(), "CLIENT SETNAME worker-3\r\nGET k\r\nSET k x\r\n"; got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
			got, err := io.ReadAll(c)
			if want := "$1\r\nx\r\n+OK\r\n"; string(got) != want || err != nil {
				t.Errorf("read %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestAnErrorInPlaceOfTheGreetingsAnswerIsHandedOn(t *testing.T) {
	raw := &slowConn{answer: bytes.NewReader([]byte("-ERR max number of clients reached\r\n"))}
	c := &linkConn{Conn: raw, link: &link{}, greeting: greeting("worker-3")}
	_, _ = c.Write([]byte("PING\r\n"))
	if got, err := io.ReadAll(c); string(got) != "-ERR max number of clients reached\r\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
