// Package child runs the program of a lock that speaks the protocol, as a
// process in real time.
//
// A child has a process group of its own, is paused and killed by group, and
// dies with lockcheck (on Linux also if lockcheck is killed). When it ends,
// nothing that it started is left running: see End. Whatever it does, Ask
// answers within the limits.
//
// What a child says is judged by package protocol; here are pipes, signals and
// the clock. Start with Start.
package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockcheck/lockcheck/internal/tail"
	"github.com/lockcheck/lockcheck/protocol"
)

// Config is what to run, and how. The zero value of a field is its documented
// default.
type Config struct {
	Command []string // the program and its arguments
	Dir     string   // default: the current folder
	Env     []string // besides lockcheck's own environment

	// Joined puts it into the process group of its caller, who pauses and kills
	// that as a whole; Pause and Kill then concern the child's process alone.
	Joined bool

	Hello  protocol.Hello
	Limits protocol.Limits
	Grace  Grace

	// Now is the clock that stamps; default: the time since Start.
	Now func() time.Duration
	// Heard gets all that the child says but its answers, in order. It must
	// not block and must not call the child.
	Heard func(protocol.Heard)
	// Step is called, beside all else, when the child waits at a step. The
	// child goes on when it returns. Nil: at once.
	Step func(ctx context.Context, s protocol.Step)
}

// Grace is how long an ending child is waited for.
type Grace struct {
	Stdin time.Duration // from the end of its input to SIGTERM; default 2 s
	Term  time.Duration // from SIGTERM to SIGKILL; default 4 s
}

// Mark is the environment variable by which the processes are found that a
// child has started.
const Mark = "LOCKCHECK_CHILD"

// stderrKept is how much is kept of what a child logs, in bytes.
const stderrKept = 16 << 10

// Child is a running child.
type Child struct {
	cfg    Config
	mark   string
	cmd    *exec.Cmd
	ctx    context.Context // ends with the child
	cancel context.CancelFunc
	stderr *tail.Tail

	writing sync.Mutex
	stdin   *os.File

	mu       sync.Mutex // of the session and of what follows
	session  *protocol.Session
	timer    *time.Timer // calls expire
	found    []protocol.Finding
	listener func(protocol.Note)
	frozen   time.Duration // since when it is paused
	paused   bool
	ready    chan struct{} // closed when it is ready, or never will be
	readied  bool
	answers  chan protocol.Answer
	gone     chan struct{} // closed when the process has ended
	read     chan struct{} // closed when its output has been read
	logged   chan struct{} // closed when its log has been read
	endOnce  sync.Once
	endError error
}

var children atomic.Int64

// Start starts a child and greets it.
func Start(cfg Config) (*Child, error) {
	if len(cfg.Command) == 0 {
		return nil, errors.New("no program was named")
	}
	if err := available(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		start := time.Now()
		cfg.Now = func() time.Duration { return time.Since(start) }
	}
	cfg.Grace.Stdin = cmp.Or(cfg.Grace.Stdin, 2*time.Second)
	cfg.Grace.Term = cmp.Or(cfg.Grace.Term, 4*time.Second)
	c := &Child{
		cfg: cfg, mark: fmt.Sprintf("%d.%d.%d", os.Getpid(), children.Add(1), time.Now().UnixNano()),
		session: protocol.NewSession(cfg.Hello, cfg.Limits), stderr: &tail.Tail{Size: stderrKept},
		ready: make(chan struct{}), answers: make(chan protocol.Answer, 1), gone: make(chan struct{}), read: make(chan struct{}), logged: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.start(); err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// pipes are the ends that the child has, and those that are ours.
type pipes struct{ theirs, ours [3]*os.File }

func (p *pipes) make() (err error) {
	for i := range p.ours {
		r, w, failed := os.Pipe()
		if err = failed; err != nil {
			break
		}
		if p.theirs[i], p.ours[i] = w, r; i == 0 {
			p.theirs[i], p.ours[i] = r, w
		}
	}
	if err != nil {
		closeAll(p.theirs[:])
		closeAll(p.ours[:])
	}
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (c *Child) start() error {
	var p pipes
	if err := p.make(); err != nil {
		return err
	}
	defer func() { closeAll(p.theirs[:]) }()
	c.cmd = exec.Command(c.cfg.Command[0], c.cfg.Command[1:]...)
	c.cmd.Dir, c.cmd.SysProcAttr = c.cfg.Dir, attributes(c.cfg.Joined)
	c.cmd.Env = append(append(os.Environ(), c.cfg.Env...), Mark+"="+c.mark)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	if err := c.cmd.Start(); err != nil {
		closeAll(p.ours[:])
		return fmt.Errorf("the child cannot be started: %w", err)
	}
	c.stdin = p.ours[0]
	c.timer = time.AfterFunc(time.Hour, c.expire)
	go func() {
		defer close(c.logged)
		_, _ = p.ours[2].WriteTo(c.stderr)
		_ = p.ours[2].Close()
	}()
	go c.listen(p.ours[1])
	go c.wait(p.ours[1], p.ours[2])
	c.mu.Lock()
	hello := c.session.Greet(c.cfg.Now())
	c.arm()
	c.mu.Unlock()
	go c.write(hello)
	return nil
}

// listen reads what the child says until it says no more.
func (c *Child) listen(stdout *os.File) {
	defer close(c.read)
	defer stdout.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := stdout.Read(buffer)
		c.mu.Lock()
		over := c.session.Over()
		if n > 0 {
			c.deliver(c.session.Hear(c.cfg.Now(), buffer[:n]))
		}
		over = !over && c.session.Over()
		c.mu.Unlock()
		if err != nil {
			break
		}
		if over {
			_ = stdout.Close() // it has said enough
		}
	}
	how := "closed its output"
	if within(c.gone, drainFor) {
		how = c.cmd.ProcessState.String()
		within(c.logged, 2*drainFor)
	}
	if log := c.lastWords(); log != "" {
		how += ", and its log ends with " + strconv.Quote(log)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deliver(c.session.End(c.cfg.Now(), how))
}

// drainFor is how long the output of a process is read that has ended: others
// may hold it open.
const drainFor = 100 * time.Millisecond

// within says whether something happens within d. What has happened has.
func within(happens <-chan struct{}, d time.Duration) bool {
	select {
	case <-happens:
		return true
	default:
	}
	select {
	case <-happens:
		return true
	case <-time.After(d):
		return false
	}
}

// lastWords are the last lines of its log.
func (c *Child) lastWords() string {
	const some = 300
	log := c.stderr.String()
	return strings.ToValidUTF8(log[max(0, len(log)-some):], "")
}

// wait waits for the process.
func (c *Child) wait(stdout, stderr *os.File) {
	_ = c.cmd.Wait() // how it ended is in its ProcessState
	close(c.gone)
	end := time.Now().Add(drainFor)
	_ = stdout.SetReadDeadline(end)
	_ = stderr.SetReadDeadline(end)
}

// write sends a line.
func (c *Child) write(text []byte) {
	c.writing.Lock()
	_ = c.stdin.SetWriteDeadline(time.Now().Add(writeLimit))
	_, err := c.stdin.Write(text)
	c.writing.Unlock()
	if err == nil {
		return
	}
	why := err.Error()
	if within(c.gone, drainFor) {
		why = c.cmd.ProcessState.String()
		<-c.read // what it said before tells more
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deliver(c.session.Lost(c.cfg.Now(), why))
}

// writeLimit bounds how long a line may take to be taken: a pipe has room for
// all that a child may owe.
const writeLimit = 5 * time.Second

// expire looks whether something is overdue.
func (c *Child) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused {
		c.deliver(c.session.Expire(c.cfg.Now()))
	}
}

// arm sets the timer to when something will be overdue. c.mu is held.
func (c *Child) arm() {
	at, due := c.session.Deadline()
	if !due || c.paused {
		c.timer.Stop()
		return
	}
	c.timer.Reset(max(0, at-c.cfg.Now()))
}

// deliver hands on what was heard. c.mu is held.
func (c *Child) deliver(said []protocol.Heard) {
	for _, h := range said {
		switch h := h.(type) {
		case protocol.Answer:
			c.answers <- h // it has room: one request is open at a time
			continue
		case protocol.Ready:
			c.settle()
		case protocol.Note:
			if c.listener != nil {
				c.listener(h)
			}
		case protocol.Step:
			c.stop(h)
		case protocol.Finding:
			c.find(h)
		}
		if c.cfg.Heard != nil {
			c.cfg.Heard(h)
		}
	}
	c.arm()
}

// find keeps a finding. c.mu is held.
func (c *Child) find(f protocol.Finding) {
	c.found = append(c.found, f)
	if f.Fatal() {
		c.settle()
		go c.End()
	}
}

// settle lets go who waits for the child to be ready. c.mu is held.
func (c *Child) settle() {
	if !c.readied {
		c.readied = true
		close(c.ready)
	}
}

// stop has the child wait at a step.
func (c *Child) stop(s protocol.Step) {
	go func() {
		if c.cfg.Step != nil {
			c.cfg.Step(c.ctx, s)
		}
		c.mu.Lock()
		if c.session.Over() {
			c.mu.Unlock()
			return
		}
		text := c.session.Go(c.cfg.Now(), s)
		c.arm()
		c.mu.Unlock()
		c.write(text)
	}()
}

var _ protocol.Child = (*Child)(nil)

// Await waits until the child has said what it can do. An error is why it never
// will.
func (c *Child) Await(ctx context.Context) (protocol.Ready, error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return protocol.Ready{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.session.Ready(); ok {
		return r, nil
	}
	if len(c.found) > 0 {
		return protocol.Ready{}, errors.New("the child " + c.found[len(c.found)-1].String())
	}
	return protocol.Ready{}, protocol.ErrOver
}

// Ready implements protocol.Child.
func (c *Child) Ready() protocol.Ready {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, _ := c.session.Ready()
	return r
}

// Listen implements protocol.Child.
func (c *Child) Listen(f func(protocol.Note)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listener = f
}

// Ask implements protocol.Child.
func (c *Child) Ask(ctx context.Context, r protocol.Request) protocol.Answer {
	c.mu.Lock()
	now := c.cfg.Now()
	text, err := c.session.Ask(now, r)
	if err != nil {
		c.mu.Unlock()
		return protocol.Answer{Request: r, Outcome: protocol.Refused, Why: err.Error(), Asked: now, Read: now}
	}
	c.arm()
	c.mu.Unlock()
	c.write(text)
	select {
	case a := <-c.answers:
		return a
	case <-ctx.Done():
	}
	c.mu.Lock()
	a, open := c.session.GiveUp(c.cfg.Now(), ctx.Err().Error())
	c.arm()
	c.mu.Unlock()
	if !open {
		return <-c.answers // it came at the same moment
	}
	return a
}

// Findings are what there is to be said about the child so far.
func (c *Child) Findings() []protocol.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]protocol.Finding(nil), c.found...)
}

// Lines are the newest lines of the conversation.
func (c *Child) Lines() []protocol.Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.Lines()
}

// Log is the end of what the child wrote to its stderr.
func (c *Child) Log() string { return c.stderr.String() }

// PID is the number of the child's process, and of its group.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Pause freezes the child's group. What is due of it is due later.
func (c *Child) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused {
		return nil
	}
	if err := c.signal(stopSignal); err != nil {
		return err
	}
	c.paused, c.frozen = true, c.cfg.Now()
	c.arm()
	return nil
}

// Resume lets the group go on.
func (c *Child) Resume() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.paused {
		return nil
	}
	c.session.Postpone(c.cfg.Now() - c.frozen)
	c.paused = false
	c.arm()
	return c.signal(resumeSignal)
}

// Kill ends the child at once, as a crash does: all its processes get SIGKILL.
func (c *Child) Kill() error {
	c.close()
	return c.end(0, 0)
}

// End ends the child: its input ends; if it has not ended then, it gets SIGTERM
// after Grace.Stdin, and SIGKILL after Grace.Term more. A child that was found
// hopeless gets SIGKILL at once. When End returns, no process is left that the
// child has started and that can be told by its group or its environment; an
// error says which could not be ended.
func (c *Child) End() error {
	if hopeless := c.close(); hopeless {
		return c.end(0, 0)
	}
	return c.end(c.cfg.Grace.Stdin, c.cfg.Grace.Term)
}

// close ends the conversation. hopeless says that it had ended before.
func (c *Child) close() (hopeless bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hopeless = c.session.Over()
	if a, open := c.session.Close(c.cfg.Now()); open {
		c.deliver([]protocol.Heard{a})
	}
	c.settle()
	return hopeless
}

func (c *Child) end(stdin, term time.Duration) error {
	c.endOnce.Do(func() { c.endError = c.bury(stdin, term) })
	return c.endError
}

// bury ends all processes.
func (c *Child) bury(stdin, term time.Duration) error {
	defer c.cancel()
	c.timer.Stop()
	_ = c.stdin.Close()
	if stdin > 0 {
		_ = c.Resume() // what is frozen cannot end
		c.escort(stdin, term)
	}
	left, err := c.exterminate(stdin > 0)
	<-c.gone
	<-c.read
	if stdin > 0 && len(left) > 0 {
		c.report(protocol.LeftBehind, "left %s running", strings.Join(left, ", "))
	}
	return err
}

// escort waits for a child that has time to end, and reminds it.
func (c *Child) escort(stdin, term time.Duration) {
	if within(c.gone, stdin) {
		return
	}
	_ = c.signal(termSignal)
	if within(c.gone, term) {
		c.report(protocol.WouldNotEnd, "did not end within %v of the end of its input, and was ended by SIGTERM", stdin)
		return
	}
	c.report(protocol.WouldNotEnd, "did not end within %v of the end of its input nor within %v of SIGTERM, and was killed", stdin, term)
}

// report adds a finding that the session cannot see.
func (c *Child) report(kind protocol.Kind, problem string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := protocol.Finding{Kind: kind, At: c.cfg.Now(), Problem: fmt.Sprintf(problem, args...)}
	if lines := c.session.Lines(); len(lines) > 0 {
		f.Line = lines[len(lines)-1].String()
		f.Bytes = len(f.Line)
	}
	c.found = append(c.found, f)
	if c.cfg.Heard != nil {
		c.cfg.Heard(f)
	}
}
