package resp

import (
	"strings"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

func (s *Session) begin([]string) {
	if s.multi {
		s.reply(redis.Error("ERR MULTI calls can not be nested"))
		return
	}
	s.multi, s.spoilt, s.queued = true, false, nil
	s.reply(Status("OK"))
}

// queue keeps a command for EXEC. What only a Session can answer cannot be part
// of a transaction here.
func (s *Session) queue(name string, args []string) {
	if own[name] != nil {
		s.spoilt = true
		s.reply(redis.Error("ERR " + strings.ToLower(name) + " inside MULTI is not simulated"))
		return
	}
	s.queued = append(s.queued, args)
	s.reply(Status("QUEUED"))
}

func (s *Session) discard([]string) {
	if !s.multi {
		s.reply(redis.Error("ERR DISCARD without MULTI"))
		return
	}
	s.multi, s.queued = false, nil
	s.reply(Status("OK"))
}

// exec executes what was queued, at one instant: the backend answers all of it
// before it does anything else.
func (s *Session) exec([]string) {
	if !s.multi {
		s.reply(redis.Error("ERR EXEC without MULTI"))
		return
	}
	queued := s.queued
	s.multi, s.queued = false, nil
	if s.spoilt {
		s.reply(redis.Error("EXECABORT Transaction discarded because of previous errors."))
		return
	}
	replies := make([]any, len(queued))
	left := len(queued)
	if left == 0 {
		s.reply(replies)
		return
	}
	s.waiting = true
	for i, args := range queued {
		name := strings.ToUpper(args[0])
		s.backend.Do(args, func(r any) {
			replies[i] = shaped(name, s.version, r)
			if left--; left == 0 {
				s.reply(replies)
				s.goOn()
			}
		})
	}
}

// watch is refused: a transaction that pretended to watch would commit what it
// must not.
func (s *Session) watch([]string) {
	s.reply(redis.Error("ERR WATCH is not simulated: compare in a script"))
}

func (s *Session) unwatch([]string) { s.reply(Status("OK")) }
