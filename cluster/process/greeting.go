//go:build unix

package process

import (
	"bytes"
	"slices"
)

// A worker's connections to Redis tell the server whose they are, so that those
// of one host can be ended. go-redis would ask and wait for the answer before it
// uses a connection: a request on a link that is cut one way would then never be
// sent. So the name goes ahead of the first request, in one packet with it.

// greeting names a connection.
func greeting(host string) []byte { return []byte("CLIENT SETNAME " + host + "\r\n") }

// greetingAnswer is what a server answers to it.
var greetingAnswer = []byte("+OK\r\n")

// isRedis reports whether a server is one that keeps locks or stock.
func isRedis(s Servers, e Endpoint) bool {
	return slices.Contains(s.Redis, e) || s.Stock != nil && *s.Stock == e
}

// greeted is p with the greeting ahead, if that was not sent yet. c.mu is held.
func (c *linkConn) greeted(p []byte) []byte {
	if c.greeting == nil || c.closed {
		return p
	}
	p = slices.Concat(c.greeting, p)
	c.greeting, c.ignored = nil, len(greetingAnswer)
	return p
}

// ungreeted takes the answer to the greeting out of what was read, p[:n].
func (c *linkConn) ungreeted(p []byte, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ignored == 0 || n == 0 {
		return n
	}
	expected := greetingAnswer[len(greetingAnswer)-c.ignored:]
	if drop := min(n, c.ignored); bytes.Equal(p[:drop], expected[:drop]) {
		c.ignored -= drop
		return copy(p, p[drop:n])
	}
	c.ignored = 0 // an error: the caller's own request gets one too
	return n
}
