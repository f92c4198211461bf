package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
	"github.com/lockcheck/lockcheck/cluster/sim/sql"
	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// sqlServer is a MariaDB server: an engine in a process. What was committed
// is on its disk.
type sqlServer struct {
	daemon
	db      *sql.DB
	clients []*sqlSession // oldest first
	awake   []*sql.Session
}

// sqlSession is one client's connection.
type sqlSession struct {
	of    *vtime.Session
	sql   *sql.Session
	reply func(any) // of the statement at work; nil: none
	gone  bool      // the client has hung up, the statement still waits
	waits int       // how often it has begun to wait
}

// sqlReply answers a statement.
type sqlReply struct {
	rows     [][]any
	affected int64
}

func (d *sqlServer) boot(empty bool) {
	d.rise(d)
	if d.db == nil || empty {
		d.db = sql.New(func() time.Time { return d.box.Wall.At(d.s.Now) })
	}
	d.db.OnWake = func(s *sql.Session) { d.awake = append(d.awake, s) }
	d.db.Choose = d.net.Rand.IntN
	d.clients, d.awake = nil, nil
}

func (d *sqlServer) kill(mode string) {
	d.fall(mode)
	d.db.Crash()
}

// Serve runs one statement: args are QUERY, the statement and its arguments.
func (d *sqlServer) Serve(from *vtime.Session, args []string, reply func(any)) {
	if args[0] == "PING" {
		reply("PONG")
		return
	}
	c := d.client(from)
	if c.reply != nil {
		reply(redis.Error("2014 Commands out of sync; you can't run this command now"))
		return
	}
	c.reply = reply
	result, err := c.sql.Do(args[1], decode(args[2:])...)
	d.finish(c, result, err)
	d.wakeUp()
}

func (d *sqlServer) client(of *vtime.Session) *sqlSession {
	for _, c := range d.clients {
		if c.of == of {
			return c
		}
	}
	c := &sqlSession{of: of, sql: d.db.Session()}
	d.clients = append(d.clients, c)
	return c
}

// finish answers a statement that ended, and waits with one that must.
func (d *sqlServer) finish(c *sqlSession, result sql.Result, err error) {
	if blocked := (*sql.Blocked)(nil); errors.As(err, &blocked) {
		c.waits++
		wait := c.waits
		d.s.After(blocked.Limit, d.proc, func() { d.timeOut(c, wait) })
		return
	}
	reply := c.reply
	c.reply = nil
	c.waits++
	switch bad := (*sql.Error)(nil); {
	case c.gone:
		d.end(c)
	case errors.As(err, &bad):
		reply(redis.Error(fmt.Sprintf("%d %s", bad.Number, bad.Message)))
	case err != nil:
		reply(redis.Error("1105 " + err.Error()))
	default:
		reply(&sqlReply{result.Rows, result.Affected})
	}
}

func (d *sqlServer) timeOut(c *sqlSession, wait int) {
	if c.waits != wait || c.reply == nil || !c.sql.Waiting() {
		return
	}
	c.sql.TimeOut()
	result, err := c.sql.Continue()
	d.finish(c, result, err)
	d.wakeUp()
}

// wakeUp goes on with the statements whose wait is over.
func (d *sqlServer) wakeUp() {
	for len(d.awake) > 0 {
		s := d.awake[0]
		d.awake = d.awake[1:]
		i := slices.IndexFunc(d.clients, func(c *sqlSession) bool { return c.sql == s })
		if i < 0 || d.clients[i].reply == nil {
			continue
		}
		c := d.clients[i]
		result, err := s.Continue()
		d.finish(c, result, err)
	}
}

// Hangup rolls back what the client has left open. A statement that waits
// for a lock does not notice: it goes on waiting, and acts if it is let.
func (d *sqlServer) Hangup(from *vtime.Session) {
	i := slices.IndexFunc(d.clients, func(c *sqlSession) bool { return c.of == from })
	if i < 0 {
		return
	}
	if c := d.clients[i]; c.reply != nil {
		c.gone = true
	} else {
		d.end(c)
	}
	d.wakeUp()
}

func (d *sqlServer) end(c *sqlSession) {
	d.clients = slices.DeleteFunc(d.clients, func(o *sqlSession) bool { return o == c })
	c.sql.Kill()
}

// dropClients kills the connections of workers that are in a transaction; if
// none is, those of all workers.
func (d *sqlServer) dropClients(of func(*vtime.Machine) bool) int {
	victims := slices.DeleteFunc(slices.Clone(d.clients), func(c *sqlSession) bool {
		client := c.of.Conn.End[0].Host
		return client.Safe || !of(client)
	})
	busy := slices.DeleteFunc(slices.Clone(victims), func(c *sqlSession) bool { return !c.sql.InTransaction() })
	if len(busy) > 0 {
		victims = busy
	}
	for _, c := range victims {
		d.end(c)
		c.of.Conn.Close(1)
	}
	d.wakeUp()
	return len(victims)
}

// hangUp closes one client's connection.
func (d *sqlServer) hangUp(of *vtime.Session) {
	d.end(d.client(of))
	of.Conn.Close(1)
	d.wakeUp()
}

// encode writes an argument of a statement so that decode finds its type.
func encode(arg any) (string, error) {
	switch a := arg.(type) {
	case nil:
		return "n", nil
	case string:
		return "s" + a, nil
	case []byte:
		return "s" + string(a), nil
	case int:
		return "i" + strconv.Itoa(a), nil
	case int64:
		return "i" + itoa(a), nil
	case bool:
		if a {
			return "i1", nil
		}
		return "i0", nil
	}
	return "", fmt.Errorf("an SQL argument cannot be a %T", arg)
}

func decode(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a[0] {
		case 's':
			out[i] = a[1:]
		case 'i':
			out[i], _ = strconv.ParseInt(a[1:], 10, 64)
		}
	}
	return out
}
