//go:build unix

package docker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/lockcheck/lockcheck/cluster/inject"
	"github.com/lockcheck/lockcheck/cluster/process"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/tail"
	"github.com/lockcheck/lockcheck/internal/wait"
	"github.com/lockcheck/lockcheck/workload/env"
)

// runMark is the environment variable that marks worker processes, so that
// Clean finds those of a run that was killed.
const runMark = "LOCKCHECK_RUN"

// host is one worker process from outside: a host with one or more workers.
type host struct {
	name    string
	workers []int

	mu     sync.Mutex
	life   int
	want   process.Control // what it is told to be like
	stdin  *os.File
	proc   *os.Process
	ended  chan struct{} // closed when the process has ended and all it said is read
	killed bool          // by us: its end is no error
	paused bool
	err    error
	acks   map[int64]chan process.Note
}

// StartWorkers implements cluster.Cluster.
func (c *system) StartWorkers(ctx context.Context) error {
	for first := 0; first < c.o.Workers; first += c.o.PerHost {
		h := &host{name: histories.WorkerName(first), acks: map[int64]chan process.Note{}}
		for n := first; n < min(first+c.o.PerHost, c.o.Workers); n++ {
			h.workers = append(h.workers, n)
		}
		c.hosts = append(c.hosts, h)
		if err := c.startHost(ctx, h); err != nil {
			return fmt.Errorf("start %s: %w", h.name, err)
		}
	}
	return nil
}

// startHost starts a host's process, or starts it again.
func (c *system) startHost(ctx context.Context, h *host) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.want.Phase = env.Phase(c.phase.Load())
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.p.Self, c.p.Args...)
	cmd.Env = append(os.Environ(), runMark+"="+owner())
	cmd.SysProcAttr = dieWithParent()
	stderr := &tail.Tail{}
	cmd.Stderr = stderr
	theirs, stdin, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdin = theirs
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = theirs.Close()
	if err != nil {
		return errors.Join(err, stdin.Close())
	}
	h.proc, h.stdin, h.killed, h.paused, h.err = cmd.Process, stdin, false, false, nil
	h.ended = make(chan struct{})
	go c.follow(h, cmd, stdout, stderr, h.ended)
	return h.tell(c.helloTo(h))
}

func (c *system) helloTo(h *host) process.Hello {
	return process.Hello{
		Run: c.p.run, Start: c.clock.Started(), Seed: c.o.Seed, Host: h.name, Workers: h.workers, Life: h.life,
		Spec: c.o.Spec, CallTimeout: c.o.CallTimeout, Servers: c.servers(), Control: h.want, Own: c.o.Own,
	}
}

// follow reads what a worker process says, until it has ended.
func (c *system) follow(h *host, cmd *exec.Cmd, stdout io.Reader, stderr *tail.Tail, ended chan struct{}) {
	defer close(ended)
	lines := bufio.NewReaderSize(stdout, 1<<16)
	var bad error
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // a line without end was cut off by the process's death
		}
		if err := c.heard(h, line); err != nil && bad == nil {
			bad = fmt.Errorf("%s said %.60q: %w", h.name, line, err)
		}
	}
	err := cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.stdin.Close()
	if err != nil && !h.killed {
		h.err = fmt.Errorf("%s ended: %w: %s", h.name, err, stderr)
	}
	h.err = errors.Join(h.err, bad)
	for _, ack := range h.acks {
		close(ack)
	}
	clear(h.acks)
}

func (c *system) heard(h *host, line []byte) error {
	if line[0] != '!' {
		var e histories.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		c.emit(e)
		return nil
	}
	var n process.Note
	if err := json.Unmarshal(line[1:], &n); err != nil {
		return err
	}
	if n.Hit != 0 {
		c.ambushed(h, n)
	}
	if n.Found != "" {
		c.found(n.Found)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ack := h.acks[n.Ack]; ack != nil {
		ack <- n
		delete(h.acks, n.Ack)
	}
	return nil
}

// tellLimit bounds writing one line: a process that is stopped reads nothing,
// and a pipe holds many lines.
const tellLimit = time.Second

// tell writes one line to the process. h.mu is held.
func (h *host) tell(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = h.stdin.SetWriteDeadline(time.Now().Add(tellLimit)) // a pipe of ours has deadlines
	_, err = h.stdin.Write(append(line, '\n'))
	return err
}

// alive reports whether the process has not ended. h.mu is held.
func (h *host) alive() bool {
	if h.proc == nil {
		return false
	}
	select {
	case <-h.ended:
		return false
	default:
		return true
	}
}

// ackLimit bounds waiting for a worker process to obey.
const ackLimit = 2 * time.Second

var errNoAnswer = errors.New("the worker process does not answer")

// change changes what a host is to be like and waits until it is so: the
// answer is the process's own. A process that is stopped, dead or dying is so
// when it goes on or is started.
func (c *system) change(ctx context.Context, h *host, f func(*process.Control)) (process.Note, error) {
	h.mu.Lock()
	f(&h.want)
	h.want.Seq = c.seq.Add(1)
	h.want.Phase = env.Phase(c.phase.Load())
	if !h.alive() || h.killed {
		h.mu.Unlock()
		return process.Note{}, nil
	}
	ended := h.ended
	ack := make(chan process.Note, 1)
	h.acks[h.want.Seq] = ack
	err := h.tell(h.want)
	paused := h.paused
	h.mu.Unlock()
	if err != nil || paused {
		return process.Note{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, ackLimit)
	defer cancel()
	select {
	case n := <-ack:
		return n, nil
	case <-ended:
		return process.Note{}, nil
	case <-ctx.Done():
		return process.Note{}, fmt.Errorf("%s: %w", h.name, errNoAnswer)
	}
}

// SetPhase implements cluster.Cluster.
func (c *system) SetPhase(p env.Phase) {
	c.phase.Store(int32(p))
	for _, h := range c.hosts {
		h.mu.Lock()
		h.want.Phase = p
		h.want.Seq = c.seq.Add(1)
		if h.alive() {
			if err := h.tell(h.want); err != nil {
				c.p.Log.Warn("a worker process cannot be told the phase", "host", h.name, "err", err)
			}
		}
		h.mu.Unlock()
	}
}

// AwaitWorkers implements cluster.Cluster. Workers that a fault killed have
// ended.
func (c *system) AwaitWorkers(ctx context.Context, limit time.Duration) (killed []string, err error) {
	deadline := time.After(limit)
	var late []*host
	for _, h := range c.hosts {
		select {
		case <-h.end():
			continue
		default:
		}
		select {
		case <-h.end():
		case <-deadline:
			late = append(late, h)
			deadline = closedTime
		case <-ctx.Done():
			late = append(late, h)
		}
	}
	for _, h := range late {
		if h.kill() {
			killed = append(killed, inject.Process(h.workers).Names()...)
		}
	}
	var errs []error
	for _, h := range c.hosts {
		<-h.end()
		errs = append(errs, h.err)
	}
	return killed, errors.Join(errs...)
}

var closedTime = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// end is closed when the process has ended; of a host that was never started
// it is so at once.
func (h *host) end() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.ended = make(chan struct{})
		close(h.ended)
	}
	return h.ended
}

// kill kills the process and waits until all that it said is read. It reports
// whether there was one to kill.
func (h *host) kill() bool {
	h.mu.Lock()
	alive := h.alive()
	if alive {
		h.killed = true
		_ = syscall.Kill(-h.proc.Pid, syscall.SIGKILL) // with what it has beside it
	}
	h.mu.Unlock()
	<-h.end()
	return alive
}

// killWorkers leaves no worker process.
func (c *system) killWorkers() {
	_ = wait.Each(c.hosts, func(h *host) error { h.kill(); return nil })
}

// signal sends a signal to the process, which has a group of its own.
func (h *host) signal(s syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.alive() {
		return fmt.Errorf("%s: %w", h.name, errAlready)
	}
	h.paused = s == syscall.SIGSTOP
	return syscall.Kill(-h.proc.Pid, s) // and to what it has beside it
}
