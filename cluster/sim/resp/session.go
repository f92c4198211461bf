package resp

import (
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// Backend executes commands of one client.
type Backend interface {
	// Do executes a command and replies once, at once or later.
	Do(args []string, reply func(any))
	// Listen begins or ends the client's subscription to a channel. What is
	// published there comes by Session.Publish.
	Listen(channel string, on bool)
	// Identity is what HELLO tells: the version ("7.0.15"), the mode
	// ("standalone", "sentinel" or "cluster") and the role ("master" or
	// "replica").
	Identity() (version, mode, role string)
}

// Session is one client's connection, as the server sees it. Its methods may
// not be called at the same time.
type Session struct {
	id      int64
	backend Backend
	send    func([]byte)
	parser  Parser

	version  int
	name     string
	channels []string // subscribed to
	multi    bool     // between MULTI and EXEC
	spoilt   bool     // a command after MULTI was wrong
	queued   [][]string

	waiting bool       // a command has not been answered yet
	backlog [][]string // what came meanwhile
	closed  bool
}

// NewSession begins a connection. send takes what is to be sent to the client.
func NewSession(id int64, b Backend, send func([]byte)) *Session {
	return &Session{id: id, backend: b, send: send, version: 2}
}

// Closed says that the server wants to end the connection: after QUIT, or after
// bytes that are no command.
func (s *Session) Closed() bool { return s.closed }

// Receive takes bytes of the client and executes the commands in them.
func (s *Session) Receive(data []byte) {
	s.parser.Feed(data)
	for !s.closed {
		args, err := s.parser.Next()
		if err != nil {
			s.reply(redis.Error("ERR P" + err.Error()[1:])) // "Protocol error: …"
			s.closed = true
			return
		}
		if args == nil {
			return
		}
		s.Command(args)
	}
}

// mostBacklog bounds what a client may send while one of its commands waits.
const mostBacklog = 100_000

// Command executes one command, after those before it.
func (s *Session) Command(args []string) {
	switch {
	case s.closed:
	case s.waiting && len(s.backlog) >= mostBacklog:
		s.closed = true
	case s.waiting:
		s.backlog = append(s.backlog, args)
	default:
		s.execute(args)
	}
}

// Publish tells the client of a message on a channel that it listens to.
func (s *Session) Publish(channel, payload string) {
	if slices.Contains(s.channels, channel) {
		s.push("message", channel, payload)
	}
}

func (s *Session) push(items ...any) { s.send(Append(nil, s.version, Push(items))) }

func (s *Session) reply(r any) { s.send(Append(nil, s.version, r)) }

// own are the commands that a Session answers by itself.
var own map[string]func(s *Session, args []string)

func init() {
	own = map[string]func(s *Session, args []string){
		"HELLO": (*Session).hello, "AUTH": (*Session).auth, "CLIENT": (*Session).client, "COMMAND": (*Session).command,
		"CONFIG": (*Session).config, "QUIT": (*Session).quit, "RESET": (*Session).reset,
		"MULTI": (*Session).begin, "EXEC": (*Session).exec, "DISCARD": (*Session).discard,
		"WATCH": (*Session).watch, "UNWATCH": (*Session).unwatch,
		"SUBSCRIBE": (*Session).subscribe, "UNSUBSCRIBE": (*Session).unsubscribe, "PSUBSCRIBE": (*Session).patterns, "PUNSUBSCRIBE": (*Session).noPatterns,
	}
}

// allowed are the commands that a RESP2 client may send while it listens.
var allowed = map[string]bool{"SUBSCRIBE": true, "UNSUBSCRIBE": true, "PSUBSCRIBE": true, "PUNSUBSCRIBE": true, "PING": true, "QUIT": true, "RESET": true}

// inMulti are the commands that are not queued after MULTI.
var inMulti = map[string]bool{"MULTI": true, "EXEC": true, "DISCARD": true, "WATCH": true, "QUIT": true, "RESET": true}

func (s *Session) execute(args []string) {
	name := strings.ToUpper(args[0])
	handle := own[name]
	listening := s.version == 2 && len(s.channels) > 0
	switch {
	case listening && name == "PING":
		s.reply([]any{"pong", strings.Join(args[1:min(2, len(args))], "")})
	case listening && !allowed[name]:
		s.reply(redis.Error("ERR Can't execute '" + strings.ToLower(args[0]) + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"))
	case s.multi && !inMulti[name]:
		s.queue(name, args)
	case handle != nil:
		handle(s, args)
	default:
		s.ask(args, func(r any) { s.reply(shaped(name, s.version, r)) })
	}
}

// ask lets the backend execute a command. Until it has replied, everything else
// waits.
func (s *Session) ask(args []string, then func(any)) {
	s.waiting = true
	s.backend.Do(args, func(r any) {
		then(r)
		s.goOn()
	})
}

// goOn executes what came while a command had not been answered.
func (s *Session) goOn() {
	s.waiting = false
	for !s.waiting && !s.closed && len(s.backlog) > 0 {
		next := s.backlog[0]
		s.backlog = s.backlog[1:]
		s.execute(next)
	}
}

// hello switches the protocol, and says what the server is.
func (s *Session) hello(args []string) {
	version := s.version
	name := s.name
	if len(args) > 1 {
		switch args[1] {
		case "2":
			version = 2
		case "3":
			version = 3
		default:
			s.reply(redis.Error("NOPROTO unsupported protocol version"))
			return
		}
	}
	for i := 2; i < len(args); {
		switch word := strings.ToUpper(args[i]); {
		case word == "AUTH" && i+2 < len(args):
			i += 3
		case word == "SETNAME" && i+1 < len(args):
			name = args[i+1]
			i += 2
		default:
			s.reply(redis.Error("ERR Syntax error in HELLO option '" + args[i] + "'"))
			return
		}
	}
	s.version, s.name = version, name
	server, mode, role := s.backend.Identity()
	s.reply(Map{"server", "redis", "version", server, "proto", int64(version), "id", s.id, "mode", mode, "role", role, "modules", []any{}})
}

// auth: the default user has no password, so any is right.
func (s *Session) auth(args []string) {
	switch len(args) {
	case 2:
		s.reply(redis.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"))
	case 3:
		s.reply(Status("OK"))
	default:
		s.reply(wrongArity("auth"))
	}
}

func (s *Session) client(args []string) {
	if len(args) < 2 {
		s.reply(wrongArity("client"))
		return
	}
	switch word := strings.ToUpper(args[1]); {
	case word == "SETNAME" && len(args) == 3:
		s.name = args[2]
		s.reply(Status("OK"))
	case word == "GETNAME" && s.name == "":
		s.reply(nil)
	case word == "GETNAME":
		s.reply(s.name)
	case word == "ID":
		s.reply(s.id)
	case word == "REPLY" || word == "NO-EVICT":
		s.reply(Status("OK"))
	default:
		s.reply(redis.Error("ERR unknown subcommand '" + args[1] + "'. Try CLIENT HELP."))
	}
}

// command: clients that ask what the server can do learn nothing, and go on.
func (s *Session) command(args []string) {
	if len(args) > 1 && strings.EqualFold(args[1], "COUNT") {
		s.reply(int64(0))
		return
	}
	s.reply([]any{})
}

func (s *Session) config(args []string) {
	if len(args) > 2 && strings.EqualFold(args[1], "GET") {
		s.reply(Map{})
		return
	}
	s.reply(redis.Error("ERR CONFIG of a simulated server cannot be changed"))
}

func (s *Session) quit([]string) {
	s.reply(Status("OK"))
	s.closed = true
}

func (s *Session) reset([]string) {
	s.leave()
	s.multi, s.queued, s.version, s.name = false, nil, 2, ""
	s.reply(Status("RESET"))
}

func wrongArity(name string) redis.Error {
	return redis.Error("ERR wrong number of arguments for '" + name + "' command")
}
