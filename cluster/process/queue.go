//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/lockcheck/lockcheck/workload/env"
)

// QueueName is the one queue that there is.
const QueueName = "lockcheck"

// queueConn is env.Queue over RabbitMQ. Publishing and consuming have a
// connection each, made when first used and made anew after an error.
type queueConn struct {
	url     string
	dial    dialFunc
	limit   time.Duration
	publish channel
	consume channel
}

var _ env.Queue = (*queueConn)(nil)

// channel is an AMQP connection with one channel.
type channel struct {
	mu         sync.Mutex // one call at a time
	conn       *amqp.Connection
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
	pending    *amqp.Delivery // delivered last, and not confirmed
}

func openQueue(w *World, o clientOptions) *queueConn {
	return &queueConn{url: QueueURL(w.servers.Queue.Addr, w.servers.Password), dial: o.dial, limit: o.limit}
}

// QueueURL is where a broker is, with the name and the password for it.
func QueueURL(addr, password string) string {
	return "amqp://" + ServerUser + ":" + password + "@" + addr + "/"
}

// open makes sure that there is a channel. Nothing has been sent if it fails.
func (q *queueConn) open(ctx context.Context, c *channel, setUp func(*amqp.Channel) error) error {
	if c.ch != nil && !c.ch.IsClosed() {
		return nil
	}
	c.reset()
	conn, err := amqp.DialConfig(q.url, amqp.Config{
		Heartbeat: 10 * time.Second,
		Dial: func(network, addr string) (net.Conn, error) {
			dial, cancel := context.WithTimeout(ctx, q.limit*3/4)
			defer cancel()
			raw, err := q.dial(dial, network, addr)
			if err != nil {
				return nil, err
			}
			return raw, raw.SetDeadline(time.Now().Add(q.limit)) // of the handshake; the library lifts it
		},
	})
	if err != nil {
		return notSent(err)
	}
	c.conn = conn
	c.ch, err = conn.Channel()
	if err == nil {
		_, err = c.ch.QueueDeclare(QueueName, true, false, false, false, nil)
	}
	if err == nil {
		err = setUp(c.ch)
	}
	if err != nil {
		c.reset()
		return notSent(err)
	}
	return nil
}

// reset drops the connection. It does not wait for the server's goodbye.
func (c *channel) reset() {
	if c.conn != nil {
		_ = c.conn.CloseDeadline(time.Now().Add(time.Millisecond))
	}
	c.conn, c.ch, c.deliveries, c.pending = nil, nil, nil, nil
}

// Publish implements env.Queue.
func (q *queueConn) Publish(ctx context.Context, body string) error {
	c := &q.publish
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := q.open(ctx, c, func(ch *amqp.Channel) error { return ch.Confirm(false) }); err != nil {
		return err
	}
	call, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	sent, err := c.ch.PublishWithDeferredConfirmWithContext(call, "", QueueName, false, false, amqp.Publishing{
		DeliveryMode: amqp.Persistent, Body: []byte(body),
	})
	if err == nil {
		var confirmed bool
		confirmed, err = sent.WaitContext(call)
		if err == nil && !confirmed {
			err = fmt.Errorf("%w: the broker did not confirm", env.ErrReset)
		}
	}
	if err != nil {
		c.reset()
		return classifyQueue(ctx, err)
	}
	return nil
}

// Consume implements env.Queue.
func (q *queueConn) Consume(ctx context.Context, limit time.Duration) (string, func(context.Context) error, bool, error) {
	c := &q.consume
	c.mu.Lock()
	defer c.mu.Unlock()
	err := q.open(ctx, c, func(ch *amqp.Channel) (err error) {
		if err := ch.Qos(1, 0, false); err != nil {
			return err
		}
		c.deliveries, err = ch.Consume(QueueName, "", false, false, false, false, nil)
		return err
	})
	if err != nil {
		return "", nil, false, err
	}
	if err := c.giveBack(ctx); err != nil {
		return "", nil, false, err
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case d, ok := <-c.deliveries:
		if !ok {
			c.reset()
			return "", nil, false, fmt.Errorf("%w: the broker ended the delivery", env.ErrReset)
		}
		c.pending = &d
		return string(d.Body), func(ctx context.Context) error { return c.ack(ctx, &d) }, true, nil
	case <-t.C:
		return "", nil, false, nil
	case <-ctx.Done():
		return "", nil, false, ctx.Err()
	}
}

// giveBack returns to the queue what was delivered last and not confirmed: the
// broker sends nothing more until then.
func (c *channel) giveBack(ctx context.Context) error {
	d := c.pending
	if d == nil {
		return nil
	}
	c.pending = nil
	err := d.Nack(false, true)
	if err != nil {
		c.reset()
	}
	return classifyQueue(ctx, err)
}

// ack confirms the last delivery.
func (c *channel) ack(ctx context.Context, d *amqp.Delivery) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != d {
		return fmt.Errorf("%w: the message went back to the queue", env.ErrReset)
	}
	c.pending = nil
	return classifyQueue(ctx, d.Ack(false))
}

func (q *queueConn) close() error {
	for _, c := range []*channel{&q.publish, &q.consume} {
		c.mu.Lock()
		c.reset()
		c.mu.Unlock()
	}
	return nil
}

// classifyQueue is classify with the broker's own errors.
func classifyQueue(ctx context.Context, err error) error {
	var said *amqp.Error
	if errors.As(err, &said) && !errors.Is(err, amqp.ErrClosed) {
		return env.ServerError(fmt.Sprintf("%d %s", said.Code, said.Reason))
	}
	if errors.Is(err, amqp.ErrClosed) {
		return fmt.Errorf("%w: %v", env.ErrReset, err)
	}
	return classify(ctx, err)
}
