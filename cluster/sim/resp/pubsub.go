package resp

import (
	"slices"

	"github.com/lockcheck/lockcheck/cluster/sim/redis"
)

// subscribe answers once for each channel.
func (s *Session) subscribe(args []string) {
	if len(args) < 2 {
		s.reply(wrongArity("subscribe"))
		return
	}
	for _, channel := range args[1:] {
		if !slices.Contains(s.channels, channel) {
			s.channels = append(s.channels, channel)
			s.backend.Listen(channel, true)
		}
		s.push("subscribe", channel, int64(len(s.channels)))
	}
}

// unsubscribe ends the subscriptions that are named, or all.
func (s *Session) unsubscribe(args []string) {
	channels := args[1:]
	if len(channels) == 0 {
		channels = slices.Clone(s.channels)
	}
	if len(channels) == 0 {
		s.push("unsubscribe", nil, int64(0))
		return
	}
	for _, channel := range channels {
		if i := slices.Index(s.channels, channel); i >= 0 {
			s.channels = slices.Delete(s.channels, i, i+1)
			s.backend.Listen(channel, false)
		}
		s.push("unsubscribe", channel, int64(len(s.channels)))
	}
}

// leave ends all subscriptions without a word.
func (s *Session) leave() {
	for _, channel := range s.channels {
		s.backend.Listen(channel, false)
	}
	s.channels = nil
}

func (s *Session) patterns([]string) {
	s.reply(redis.Error("ERR PSUBSCRIBE is not simulated"))
}

func (s *Session) noPatterns([]string) { s.push("punsubscribe", nil, int64(len(s.channels))) }
