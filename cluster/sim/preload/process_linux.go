//go:build amd64 || arm64

package preload

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a program that is held in virtual time. It runs only inside Step.
// One goroutine at a time may use it; Kill ends it for good, and must be called.
type Process struct {
	limit time.Duration
	page  *page
	proc  *os.Process

	control, pidfd         int
	stdin, stdout, stderr  int // our ends; -1: closed
	ends                   []*end
	input                  []byte // for stdin, not yet written
	closing                bool   // stdin is closed when input is
	log                    []byte
	until                  time.Duration
	hello, blocked, drains bool
	status                 string
	ended                  bool
	dials                  []Dial
	output                 []byte
	got                    int // bytes of connections since the program went on
	polled                 []unix.PollFd
}

// end is our end of one connection of the program.
type end struct {
	slot, fd  int
	connected bool
	junk      int    // bytes in its buffer that are none of the program's
	in, out   []byte // from the program; for it, not yet written
	hangup    bool   // to be closed when out is written
	closed    bool   // by the program; told when in is
}

// Bounds of what a program may say before it blocks, and of its log.
const (
	mostOutput = 16 << 20
	mostLog    = 64 << 10
)

// Start starts a program with the library at path loaded into it. It stands
// still as soon as it would block, and goes on in the first Step.
func Start(path string, o Options) (*Process, error) {
	p := &Process{limit: cmp.Or(o.Limit, 20*time.Second), control: -1, pidfd: -1, stdin: -1, stdout: -1, stderr: -1}
	if err := p.start(path, o); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *Process) start(library string, o Options) error {
	program, err := exec.LookPath(o.Command[0])
	if err != nil {
		return err
	}
	memory, fd, err := newPage()
	if err != nil {
		return err
	}
	p.page = memory
	theirs := []int{fd}
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
	}()
	p.page.set(o.Clock)
	copy(p.page.hostname[:len(p.page.hostname)-1], cmp.Or(o.Hostname, "worker"))
	p.page.seed, p.page.pid = o.Seed, int32(cmp.Or(o.PID, 1))
	p.page.local = uint32(o.Local[0]) | uint32(o.Local[1])<<8 | uint32(o.Local[2])<<16 | uint32(o.Local[3])<<24
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.control, theirs = pair[0], append(theirs, pair[1])
	var standard [3]int
	for i, ours := range []*int{&p.stdin, &p.stdout, &p.stderr} {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		mine, its := ends[0], ends[1]
		if i == 0 {
			mine, its = its, mine
		}
		*ours, standard[i] = mine, its
		theirs = append(theirs, its)
		if err := unix.SetNonblock(mine, true); err != nil {
			return err
		}
	}
	return p.spawn(program, library, o, []int{standard[0], standard[1], standard[2], pair[1], fd})
}

// spawn starts the program in a process group of its own, at the same
// addresses each time, to be killed when this process ends.
func (p *Process) spawn(program, library string, o Options, fds []int) error {
	environment := o.Env
	if environment == nil {
		environment = os.Environ()
	}
	environment = append(slices.DeleteFunc(slices.Clone(environment), func(kv string) bool {
		if own, is := strings.CutPrefix(kv, "LD_PRELOAD="); is {
			library += ":" + own
			return true
		}
		return strings.HasPrefix(kv, "LOCKCHECK_HOLD=")
	}), "LD_PRELOAD="+library, "LOCKCHECK_HOLD=3,4")
	var files []uintptr
	for _, fd := range fds {
		files = append(files, uintptr(fd))
	}
	attr := &syscall.ProcAttr{Dir: o.Dir, Env: environment, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: &p.pidfd}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const noRandomize = 0x0040000
	if old, _, bad := unix.Syscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0); bad == 0 {
		// Where that is forbidden (in some containers), addresses differ from run to run.
		_, _, _ = unix.Syscall(unix.SYS_PERSONALITY, old|noRandomize, 0, 0)
		defer func() { _, _, _ = unix.Syscall(unix.SYS_PERSONALITY, old, 0, 0) }()
	}
	pid, _, err := syscall.StartProcess(program, o.Command, attr)
	if err != nil {
		return fmt.Errorf("%s: %w", o.Command[0], err)
	}
	p.proc, err = os.FindProcess(pid)
	return err
}

// Step sets the clocks and lets the program run until it blocks or ends. An
// error means that it cannot be held, or does not behave: it has been killed.
func (p *Process) Step(c Clock) (Report, error) {
	if p.ended {
		return Report{Ended: true, Status: p.status, Until: Forever}, nil
	}
	p.page.set(c)
	for again := true; again && !p.ended; {
		p.flush() // what did not fit before
		p.letGo()
		if err := p.run(); err != nil {
			p.Kill()
			return Report{}, err
		}
		again = p.flush() || p.drains && p.got > 0
	}
	return p.report(), nil
}

// letGo sends the byte for which a blocked program waits.
func (p *Process) letGo() {
	p.drains, p.got = false, 0
	if p.blocked {
		p.blocked = false
		_ = unix.Sendto(p.control, []byte{1}, unix.MSG_NOSIGNAL, nil) // it may just have died
	}
}

// run listens to the program until it blocks or ends.
func (p *Process) run() error {
	end := time.Now().Add(p.limit)
	for !p.blocked && !p.ended {
		n, err := p.poll(time.Until(end))
		switch {
		case err != nil:
			return err
		case n > 0 && time.Now().Before(end):
			if err := p.listen(); err != nil {
				return err
			}
			continue
		case !p.hello:
			return fmt.Errorf("%w: the library was not loaded into it", ErrCannotHold)
		}
		return fmt.Errorf("%w: %v of real time", ErrSilent, p.limit)
	}
	// What it has written before it blocked is there to be read.
	if _, err := p.poll(0); err != nil {
		return err
	}
	return p.listen()
}

// poll looks which descriptors have something, in the order of p.polled:
// control, stdout, stderr, the process, then the connections.
func (p *Process) poll(wait time.Duration) (int, error) {
	p.polled = append(p.polled[:0],
		unix.PollFd{Fd: int32(p.control), Events: unix.POLLIN}, unix.PollFd{Fd: int32(p.stdout), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(p.stderr), Events: unix.POLLIN}, unix.PollFd{Fd: int32(p.pidfd), Events: unix.POLLIN})
	for _, e := range p.ends {
		f := unix.PollFd{Fd: int32(e.fd)}
		if e.connected {
			f.Events = unix.POLLIN
		}
		p.polled = append(p.polled, f)
	}
	if p.blocked || p.ended {
		p.polled[3].Fd = -1
	}
	for {
		n, err := unix.Poll(p.polled, int(max(wait, 0)/time.Millisecond))
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// listen reads what poll has found.
func (p *Process) listen() error {
	for i, f := range p.polled[4:] {
		if f.Revents != 0 {
			p.hear(p.ends[i])
		}
	}
	if p.polled[1].Revents != 0 {
		p.output = p.readAll(&p.stdout, p.output)
	}
	if p.polled[2].Revents != 0 {
		p.log = p.readAll(&p.stderr, p.log)
		p.log = p.log[max(0, len(p.log)-mostLog):]
	}
	if len(p.output)+p.got > mostOutput {
		return fmt.Errorf("it writes more than %d MB without waiting for an answer", mostOutput>>20)
	}
	told := false
	if p.polled[0].Revents != 0 {
		var err error
		if told, err = p.hearLibrary(); err != nil {
			return err
		}
	}
	if p.polled[3].Revents != 0 && !told {
		p.reap()
	}
	return nil
}

// readAll reads what a pipe holds; at its end, it is closed.
func (p *Process) readAll(fd *int, into []byte) []byte {
	var buf [16 << 10]byte
	for {
		n, err := unix.Read(*fd, buf[:])
		switch {
		case n > 0:
			into = append(into, buf[:n]...)
			if len(into) <= mostOutput {
				continue
			}
			return into
		case n == 0 && err == nil:
			unix.Close(*fd)
			*fd = -1
		case errors.Is(err, unix.EINTR):
			continue
		}
		return into
	}
}

// hear reads what the program has sent on a connection.
func (p *Process) hear(e *end) {
	before := len(e.in)
	if e.connected {
		e.in = p.readAll(&e.fd, e.in)
		p.got += len(e.in) - before
		if e.fd >= 0 {
			return
		}
	} else {
		unix.Close(e.fd)
		e.fd = -1
	}
	e.closed = true
}

// hearLibrary takes one message of the library, if there is one.
func (p *Process) hearLibrary() (told bool, err error) {
	var m message
	room := make([]byte, unix.CmsgSpace(4))
	buf := m.bytes()
	n, rights, _, _, err := unix.Recvmsg(p.control, buf, room, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil || n != messageSize {
		return false, nil // the program ends
	}
	switch m.kind {
	case 'H':
		p.hello = true
	case 'B':
		p.blocked, p.until, p.drains = true, time.Duration(m.until), m.drain != 0
	case 'C':
		return true, p.dialled(&m, room[:rights])
	case 'R':
		return true, fmt.Errorf("%w: %s", ErrCannotHold, m.words())
	}
	return true, nil
}

// dialled takes our end of a new connection.
func (p *Process) dialled(m *message, rights []byte) error {
	list, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(list) != 1 {
		return fmt.Errorf("a connection without its descriptor: %w", err)
	}
	fds, err := unix.ParseUnixRights(&list[0])
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return err
	}
	p.ends = append(p.ends, &end{slot: int(m.slot), fd: fds[0], junk: int(m.junk)})
	p.dials = append(p.dials, Dial{Slot: int(m.slot), Address: fmt.Sprintf("%s:%d", m.words(), m.port)})
	return nil
}

// reap takes the status of a program that has ended.
func (p *Process) reap() {
	p.ended = true
	state, err := p.proc.Wait()
	if err != nil {
		p.status = err.Error()
		return
	}
	p.status = state.String()
}

// report hands over what has come together.
func (p *Process) report() Report {
	r := Report{Dials: p.dials, Output: p.output, Until: p.until, Ended: p.ended, Status: p.status}
	if p.ended {
		r.Until = Forever
	}
	p.dials, p.output = nil, nil
	p.ends = slices.DeleteFunc(p.ends, func(e *end) bool {
		if len(e.in) > 0 || e.closed {
			r.Sent = append(r.Sent, Sent{Slot: e.slot, Bytes: e.in, Closed: e.closed})
			e.in = nil
		}
		return e.fd < 0
	})
	return r
}

func (p *Process) find(slot int) *end {
	for _, e := range p.ends {
		if e.slot == slot && e.fd >= 0 {
			return e
		}
	}
	return nil
}

// Connect lets a connection stand. The program learns it in the next Step.
func (p *Process) Connect(slot int) {
	e := p.find(slot)
	if e == nil || e.connected {
		return
	}
	e.connected = true
	p.page.state[slot] = connected
	var buf [256]byte
	for e.junk > 0 {
		n, err := unix.Read(e.fd, buf[:min(e.junk, len(buf))])
		if n <= 0 || err != nil {
			return // it has closed it meanwhile; hear finds that out
		}
		e.junk -= n
	}
}

// Fail ends an attempt to connect.
func (p *Process) Fail(slot int, why Failure) {
	if e := p.find(slot); e != nil && !e.connected {
		p.page.state[slot] = uint8(why)
		unix.Close(e.fd)
		e.fd = -1
	}
}

// Deliver sends bytes to the program.
func (p *Process) Deliver(slot int, bytes []byte) {
	if e := p.find(slot); e != nil {
		e.out = append(e.out, bytes...)
		p.write(e)
	}
}

// Hangup closes a connection from the other side, after what was delivered.
func (p *Process) Hangup(slot int) {
	if e := p.find(slot); e != nil {
		e.hangup = true
		p.write(e)
	}
}

// write writes what fits, and reports whether it was anything.
func (p *Process) write(e *end) (any bool) {
	for len(e.out) > 0 && e.fd >= 0 {
		n, err := unix.SendmsgN(e.fd, e.out, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case n > 0:
			e.out, any = e.out[n:], true
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return any
		}
		e.out = nil // nobody reads it any more
	}
	if e.hangup && e.fd >= 0 {
		unix.Close(e.fd)
		e.fd = -1
	}
	return any
}

// Input writes to the program's standard input.
func (p *Process) Input(bytes []byte) {
	p.input = append(p.input, bytes...)
	p.feed()
}

// CloseInput ends the program's standard input.
func (p *Process) CloseInput() {
	p.closing = true
	p.feed()
}

// feed writes input while the program stands still: one that has just been started
// may be looking whether there is any, and must find the same each time.
func (p *Process) feed() (any bool) {
	if !p.blocked {
		return false
	}
	for len(p.input) > 0 && p.stdin >= 0 {
		n, err := unix.Write(p.stdin, p.input)
		switch {
		case n > 0:
			p.input, any = p.input[n:], true
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return any
		}
		p.input = nil
	}
	if p.closing && p.stdin >= 0 {
		unix.Close(p.stdin)
		p.stdin = -1
	}
	return any
}

// flush writes what did not fit before, and reports whether it was anything.
func (p *Process) flush() (any bool) {
	any = p.feed()
	for _, e := range p.ends {
		if len(e.out) > 0 && p.write(e) {
			any = true
		}
	}
	return any
}

// Terminate asks the program to end, by SIGTERM. It does so in the next Step.
func (p *Process) Terminate() { p.signal(unix.SIGTERM) }

func (p *Process) signal(s unix.Signal) {
	if p.proc != nil && !p.ended {
		_ = unix.Kill(-p.proc.Pid, s)
	}
}

// Log is the end of what the program wrote to its standard error.
func (p *Process) Log() []byte { return p.log }

// Kill ends the program and everything in its process group, at once.
func (p *Process) Kill() {
	if p.proc != nil && !p.ended {
		p.signal(unix.SIGKILL)
		p.log = p.readAll(&p.stderr, p.log)
		p.reap()
	}
	p.close()
}

func (p *Process) close() {
	p.ended = true
	for _, fd := range []*int{&p.control, &p.pidfd, &p.stdin, &p.stdout, &p.stderr} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
	for _, e := range p.ends {
		if e.fd >= 0 {
			unix.Close(e.fd)
		}
	}
	p.ends = nil
	if p.page != nil {
		p.page.unmap()
		p.page = nil
	}
}
