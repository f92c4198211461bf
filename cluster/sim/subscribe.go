package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// subscription is a connection that listens on one channel.
type subscription struct {
	line     *line
	messages []string
	waiting  *vtime.Waiter
}

// Subscribe opens a connection of its own and listens.
func (e *endpoint) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	e.net.Scheduler.MustRun()
	to, err := e.locate(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := e.dial(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	return l.Subscribe(ctx, channel)
}

// Subscribe listens on this connection.
func (l *line) Subscribe(ctx context.Context, channel string) (func(context.Context, time.Duration) (string, bool, error), func(), error) {
	sub := &subscription{line: l}
	l.c.OnPush = sub.receive
	l.onLose = sub.notify
	if _, err := l.do(ctx, []string{"SUBSCRIBE", channel}); err != nil {
		l.drop()
		return nil, nil, err
	}
	return sub.next, l.drop, nil
}

func (sub *subscription) receive(message string) {
	sub.messages = append(sub.messages, message)
	sub.notify()
}

// notify lets a waiting next look again.
func (sub *subscription) notify() {
	if w := sub.waiting; w != nil {
		sub.waiting = nil
		w.Wake()
	}
}

// next waits for a message, for limit at most.
func (sub *subscription) next(ctx context.Context, limit time.Duration) (string, bool, error) {
	s := sub.line.e.net.Scheduler
	until := s.Now + limit
	for {
		s.Count()
		if len(sub.messages) > 0 {
			message := sub.messages[0]
			sub.messages = sub.messages[1:]
			return message, true, nil
		}
		if sub.line.broken {
			return "", false, fmt.Errorf("%s: subscription: %w", sub.line.box.Name, env.ErrReset)
		}
		w := s.Waiter()
		sub.waiting = &w
		switch s.Wait(ctx, until) {
		case vtime.TimedOut:
			return "", false, nil
		case vtime.Cancelled:
			return "", false, ctx.Err()
		}
	}
}
