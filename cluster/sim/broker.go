package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// broker is a message queue with durable messages, publisher confirms and
// acknowledgements by the consumer. What a consumer has not acknowledged when it
// asks for more, when its connection ends, or when it has been silent for too
// long, is delivered again, to somebody else perhaps: at least once.
type broker struct {
	daemon
	next     int64
	ready    []letter // on disk, like the unacknowledged ones
	out      []delivery
	waiting  []*consumer
	sessions []*vtime.Session
	heard    map[*vtime.Session]time.Duration
}

// letter is one message.
type letter struct {
	id   int64
	body string
}

// delivery is a message that a consumer has and has not acknowledged.
type delivery struct {
	letter
	to *vtime.Session
}

// consumer is one who waits for a message.
type consumer struct {
	from  *vtime.Session
	reply func(any)
}

// heartbeat is how often broker and clients look whether the other is there;
// after two without a sign the broker ends the connection.
const heartbeat = 10 * time.Second

func (b *broker) boot(empty bool) {
	b.rise(b)
	if empty {
		b.ready = nil
	}
	b.waiting, b.sessions, b.heard = nil, nil, map[*vtime.Session]time.Duration{}
	b.s.Every(heartbeat, b.net.Phase(heartbeat), b.proc, b.beat)
}

func (b *broker) kill(mode string) {
	b.fall(mode)
	b.takeBack(func(delivery) bool { return true })
}

// Serve answers PUBLISH body, CONSUME milliseconds, and ACK id.
func (b *broker) Serve(from *vtime.Session, args []string, reply func(any)) {
	b.meet(from)
	switch {
	case args[0] == "PING":
		reply("PONG")
	case args[0] == "PUBLISH" && len(args) == 2:
		b.next++
		b.ready = append(b.ready, letter{b.next, args[1]})
		reply("OK")
		b.hand()
	case args[0] == "CONSUME" && len(args) == 2:
		b.consume(&consumer{from, reply}, args[1])
	case args[0] == "ACK" && len(args) == 2:
		b.out = slices.DeleteFunc(b.out, func(d delivery) bool { return d.to == from && itoa(d.id) == args[1] })
		reply("OK")
	default:
		reply(redis.Error("ERR unknown request '" + args[0] + "'"))
	}
}

// consume waits for a message, or until the time is up. What the consumer had
// before goes back.
func (b *broker) consume(c *consumer, millis string) {
	ms, _ := strconv.ParseInt(millis, 10, 64)
	b.takeBack(func(d delivery) bool { return d.to == c.from })
	b.waiting = append(b.waiting, c)
	b.hand()
	b.s.After(time.Duration(ms)*time.Millisecond, b.proc, func() {
		if i := slices.Index(b.waiting, c); i >= 0 {
			b.waiting = slices.Delete(b.waiting, i, i+1)
			c.reply(nil)
		}
	})
}

// hand gives messages to those who wait, first come first served.
func (b *broker) hand() {
	for len(b.ready) > 0 && len(b.waiting) > 0 {
		l, c := b.ready[0], b.waiting[0]
		b.ready, b.waiting = b.ready[1:], b.waiting[1:]
		b.out = append(b.out, delivery{l, c.from})
		c.reply([]any{itoa(l.id), l.body})
	}
}

// takeBack puts deliveries back to where they were.
func (b *broker) takeBack(which func(delivery) bool) {
	var kept []delivery
	for _, d := range b.out {
		if which(d) {
			b.ready = append(b.ready, d.letter)
		} else {
			kept = append(kept, d)
		}
	}
	b.out = kept
	slices.SortFunc(b.ready, func(x, y letter) int { return int(x.id - y.id) })
}

func (b *broker) meet(s *vtime.Session) {
	if _, known := b.heard[s]; !known {
		b.sessions = append(b.sessions, s)
	}
	b.heard[s] = b.s.Now
}

// beat asks every client for a sign of life.
func (b *broker) beat() {
	for _, s := range slices.Clone(b.sessions) {
		if b.s.Now-b.heard[s] > 2*heartbeat {
			s.Conn.Close(1)
			b.Hangup(s)
			continue
		}
		s.Conn.Send(0, func() { s.Conn.Send(1, func() { b.heard[s] = b.s.Now }) })
	}
}

func (b *broker) Hangup(gone *vtime.Session) {
	b.sessions = slices.DeleteFunc(b.sessions, func(s *vtime.Session) bool { return s == gone })
	b.waiting = slices.DeleteFunc(b.waiting, func(c *consumer) bool { return c.from == gone })
	delete(b.heard, gone)
	b.takeBack(func(d delivery) bool { return d.to == gone })
	b.hand()
}
