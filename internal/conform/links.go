package conform

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/cluster/proxy"
	"github.com/lockcheck/lockcheck/cluster/sim/resp"
)

// links are the connections of one program with the server.
type links struct {
	listener net.Listener
	proxy    *proxy.Proxy
	server   string
	prefix   string
	kill     func() // ends the program at once

	mu       sync.Mutex
	healed   chan struct{} // closed unless the program is cut off
	commands int           // about the scene's key
	lose     int           // replies to such commands
	slow     time.Duration // that each of these replies takes longer
	die      bool          // the program is killed when the next one comes
	dead     bool
	astray   string // a command that does not heed the prefix
}

// scenesKey is in every key of the scenes.
const scenesKey = "stock:sku-0"

func openLinks(server, prefix string) (*links, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &links{listener: l, server: server, prefix: prefix, healed: make(chan struct{})}
	close(k.healed)
	k.proxy = &proxy.Proxy{Dial: k.dial, Tap: k.tap}
	go func() { _ = k.proxy.Serve(l) }() // until close
	return k, nil
}

func (k *links) addr() string { return k.listener.Addr().String() }

func (k *links) close() {
	_ = k.listener.Close()
	k.cut(false)
	k.change(func(k *links) { k.slow = 0 })
	k.proxy.Close()
}

func (k *links) change(f func(*links)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(k)
}

// killed says that the program has been killed at a command.
func (k *links) killed() (dead bool) {
	k.change(func(k *links) { dead = k.dead })
	return dead
}

// problem is what is wrong with what the program sent.
func (k *links) problem() (err error) {
	k.change(func(k *links) {
		if k.astray != "" {
			err = fmt.Errorf("its keys do not begin with the prefix %q of the hello: %s", k.prefix, k.astray)
		}
	})
	return err
}

// cut cuts the program off, or heals that. What was sent meanwhile arrives then.
func (k *links) cut(off bool) {
	k.change(func(k *links) {
		select {
		case <-k.healed:
			if off {
				k.healed = make(chan struct{})
			}
		default:
			if !off {
				close(k.healed)
			}
		}
	})
}

// passable waits until nothing is cut.
func (k *links) passable(ctx context.Context) error {
	var healed chan struct{}
	k.change(func(k *links) { healed = k.healed })
	select {
	case <-healed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *links) dial(ctx context.Context) (net.Conn, error) {
	if err := k.passable(ctx); err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", k.server)
}

// tap watches one connection.
func (k *links) tap() proxy.Tap {
	var commands resp.Parser
	var about, mute atomic.Bool // what was asked last is about the key; nothing comes back any more
	return proxy.Tap{
		Request: func(p []byte) []byte {
			_ = k.passable(context.Background())
			commands.Feed(p)
			for {
				args, err := commands.Next()
				if args == nil || err != nil {
					return p
				}
				about.Store(k.asked(args))
			}
		},
		Reply: func(p []byte) []byte {
			_ = k.passable(context.Background())
			if about.Load() && !mute.Load() {
				mute.Store(!k.answered())
			}
			if mute.Load() {
				return nil
			}
			return p
		},
	}
}

// asked looks at a command and says whether it is about the key.
func (k *links) asked(args []string) (about bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range args {
		if !strings.Contains(a, scenesKey) {
			continue
		}
		about = true
		if !strings.HasPrefix(a, k.prefix) && k.astray == "" {
			k.astray = fmt.Sprintf("%.100q", args)
		}
	}
	if about {
		k.commands++
	}
	return about
}

// answered says whether the reply to a command about the key is to arrive.
func (k *links) answered() bool {
	k.mu.Lock()
	slow := k.slow
	switch {
	case k.die:
		k.die, k.dead = false, true
		k.mu.Unlock()
		k.kill()
		return false
	case k.lose > 0:
		k.lose--
		k.mu.Unlock()
		return false
	}
	k.mu.Unlock()
	time.Sleep(slow)
	return true
}
