//go:build unix

package docker

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/lockcheck/lockcheck/cluster/process"
)

func (n *node) queue() (*amqp.Connection, error) {
	return amqp.DialConfig(process.QueueURL(n.dial, n.secret), amqp.Config{Dial: amqp.DefaultDial(5 * time.Second)})
}

func queueVersion(_ context.Context, n *node) (string, error) {
	conn, err := n.queue()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return fmt.Sprintf("RabbitMQ %v", conn.Properties["version"]), nil
}

// emptyQueue deletes the queue with all that is in it.
func emptyQueue(_ context.Context, n *node) error {
	conn, err := n.queue()
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		_, err = ch.QueueDelete(process.QueueName, false, false, false)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}
