package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/lockcheck/lockcheck/workload/env"

	"github.com/lockcheck/lockcheck/cluster/sim/vtime"
)

// queueClient is env.Queue: one connection to publish on, one to consume on.
type queueClient struct {
	publish *endpoint
	consume *endpoint
	line    *line // to consume on: deliveries belong to it
}

var _ env.Queue = (*queueClient)(nil)

func (c *system) queueClient(p *vtime.Process) *queueClient {
	return &queueClient{publish: c.endpoint(p, c.site.queue.box), consume: c.endpoint(p, c.site.queue.box)}
}

// Publish returns when the broker has confirmed.
func (q *queueClient) Publish(ctx context.Context, body string) error {
	_, err := q.publish.do(ctx, []string{"PUBLISH", body})
	return err
}

// Consume waits for the next message.
func (q *queueClient) Consume(ctx context.Context, limit time.Duration) (string, func(context.Context) error, bool, error) {
	if q.line == nil || q.line.broken {
		l, err := q.consume.take(ctx)
		if err != nil {
			return "", nil, false, err
		}
		q.line = l
	}
	l := q.line
	reply, err := l.within(ctx, limit+q.consume.limit, []string{"CONSUME", itoa(limit.Milliseconds())})
	message, ok := reply.([]any)
	if err != nil || !ok {
		return "", nil, false, err
	}
	ack := func(ctx context.Context) error {
		if l.broken {
			return fmt.Errorf("%s: the delivery's connection is gone: %w", l.box.Name, env.ErrReset)
		}
		_, err := l.do(ctx, []string{"ACK", message[0].(string)})
		return err
	}
	return message[1].(string), ack, true, nil
}
