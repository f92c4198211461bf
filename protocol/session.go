package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits bound what a child may take and do. The zero value of a field is its
// documented default.
type Limits struct {
	Ready    time.Duration // from the hello to the ready; default 8 s
	Answer   time.Duration // of a request, besides the waiting and working that it asks for; default 8 s
	Findings int           // that are borne before the child counts as hopeless; default 100
}

func (l Limits) orDefault() Limits {
	if l.Ready == 0 {
		l.Ready = 8 * time.Second
	}
	if l.Answer == 0 {
		l.Answer = 8 * time.Second
	}
	if l.Findings == 0 {
		l.Findings = 100
	}
	return l
}

// Errors of Session.Ask: the request was not sent.
var (
	ErrNotReady = errors.New("the child has not said that it is ready")
	ErrOpen     = errors.New("the child has not answered the last request yet")
	ErrOver     = errors.New("the child has ended, or has been given up")
)

// Session is one life of a child, from its hello to its end. Its methods may
// not be called at the same time.
//
// All times are on one monotonic clock. A host calls Ask right before it
// writes the line, and Hear right after it has read some bytes, so that every
// doubt is on the side that makes no false alarm: a hold begins when the grant
// has been read, a belief ends when the release is sent, and a lease counts
// from the sending of its request.
//
//	lockcheck   Ask: acquire ───────────────── Hear: ok ─────── Ask: release
//	child                  SET … ── OK ── ok       [═ believes ═)
//	its lease   [valid_ms ═══════════════════════════════)
type Session struct {
	hello  Hello
	limits Limits

	ready   *Ready
	greeted time.Duration // when the hello was sent
	sent    time.Duration // when the last line was sent
	last    int64         // id of the last request
	open    *Request      // under way
	asked   time.Duration // when open was sent
	late    time.Duration // for how much longer open may take than it would
	gaveUp  int64         // id of a request that was given up and is not answered yet
	stepped []Step        // at which the child waits

	partial  []byte // a line that has no end yet
	lines    []Line // the newest ones
	findings int
	closing  bool // its stdin is closed: it may end
	over     bool
}

// NewSession begins the life of a child.
func NewSession(h Hello, l Limits) *Session {
	return &Session{hello: h, limits: l.orDefault()}
}

// Greet is the first line to send.
func (s *Session) Greet(now time.Duration) []byte {
	s.greeted = now
	return s.send(now, s.hello.Line())
}

// Ready is what the child said of itself, if it has.
func (s *Session) Ready() (r Ready, ok bool) {
	if s.ready == nil {
		return Ready{}, false
	}
	return *s.ready, true
}

// Ask begins a request, which gets a number, and makes its line. An error
// means that nothing is to be sent.
func (s *Session) Ask(now time.Duration, r Request) (text []byte, err error) {
	switch {
	case s.over || s.closing:
		return nil, ErrOver
	case s.ready == nil:
		return nil, ErrNotReady
	case s.open != nil || s.gaveUp != 0:
		return nil, ErrOpen
	}
	s.last++
	r.ID = s.last
	s.open, s.asked, s.late = &r, now, 0
	return s.send(now, line(r)), nil
}

// Go makes the line that lets a child go on from a step.
func (s *Session) Go(now time.Duration, step Step) []byte {
	s.stepped = slices.DeleteFunc(s.stepped, func(o Step) bool { return o.Step == step.Step && o.ID == step.ID })
	s.Postpone(now - step.At)
	return s.send(now, line(goOn{Go: step.Step, ID: step.ID}))
}

func (s *Session) send(now time.Duration, text []byte) []byte {
	s.sent = now
	s.keep(Line{At: now, Sent: true, Text: string(text[:len(text)-1])})
	return text
}

// kept is how many lines of a conversation are kept.
const kept = 64

func (s *Session) keep(l Line) {
	if len(s.lines) == kept {
		s.lines = slices.Delete(s.lines, 0, kept/2)
	}
	l.Text = bounded(l.Text)
	s.lines = append(s.lines, l)
}

// Lines are the newest lines of the conversation, the newest last.
func (s *Session) Lines() []Line { return slices.Clone(s.lines) }

// Close says that the child's stdin is about to be closed: from now on it may
// end, and what it still writes does not matter. A request that is open is
// answered.
func (s *Session) Close(now time.Duration) (a Answer, ok bool) {
	s.closing = true
	if s.open == nil {
		return Answer{}, false
	}
	return s.close(Answer{Outcome: Unknown, Why: "the child was ended by lockcheck", Read: now}), true
}

// Over says that nothing more is to be had from this child.
func (s *Session) Over() bool { return s.over || s.closing }

// Deadline is when the host has to call Expire, if nothing is heard before. ok
// is false if the child may take any time.
func (s *Session) Deadline() (at time.Duration, ok bool) {
	switch {
	case s.over || s.closing || len(s.stepped) > 0:
		return 0, false
	case s.ready == nil:
		return s.greeted + s.limits.Ready + s.late, true
	case s.open != nil:
		return s.asked + s.limits.Answer + s.open.patience(s.hello) + s.late, true
	}
	return 0, false
}

// Postpone allows the child d more for what is due now: it was frozen for so
// long, and that was not its fault.
func (s *Session) Postpone(d time.Duration) { s.late += d }

// Expire says what it means that now has come, and the child has not said what
// was due.
func (s *Session) Expire(now time.Duration) []Heard {
	at, due := s.Deadline()
	switch {
	case !due || now < at:
		return nil
	case s.ready == nil:
		return s.fail(Finding{Kind: NeverReady, At: now, Problem: fmt.Sprintf("did not say that it is ready within %v", now-s.greeted)})
	}
	return s.fail(Finding{Kind: NoAnswer, At: now, Problem: fmt.Sprintf("did not answer %s (%s) within %v", s.open, s.open.Key, now-s.asked)})
}

// GiveUp ends the open request, if there is one, before its time. The child
// can be asked again when it has answered, too late.
func (s *Session) GiveUp(now time.Duration, why string) (a Answer, ok bool) {
	if s.open == nil {
		return Answer{}, false
	}
	s.gaveUp = s.open.ID
	return s.close(Answer{Outcome: Unknown, Why: why, Read: now}), true
}

// End says that the child's output has ended, and how: "exit status 1".
func (s *Session) End(now time.Duration, how string) []Heard {
	if s.over || s.closing {
		s.over = true
		return nil
	}
	problem := "ended while nothing was asked of it"
	switch {
	case s.ready == nil:
		problem = "ended before it said that it is ready"
	case s.open != nil:
		problem = fmt.Sprintf("ended instead of answering %s (%s)", s.open, s.open.Key)
	}
	f := Finding{Kind: Ended, At: now, Problem: problem + ": " + how}
	f.quote(s.partial)
	return s.fail(f)
}

// Lost says that a line could not be sent, and why. Whether the child has read
// a part of it nobody knows.
func (s *Session) Lost(now time.Duration, why string) []Heard {
	if s.over || s.closing {
		return nil
	}
	return s.fail(Finding{Kind: Deaf, At: now, Problem: "does not read what it is sent: " + why})
}

// fail notes a finding, and if that is fatal ends the session.
func (s *Session) fail(f Finding) []Heard {
	said := []Heard{f}
	if s.findings++; !f.Fatal() && s.findings > s.limits.Findings {
		f.Kind, f.Problem = Nonsense, fmt.Sprintf("said more than %d things that were wrong; this is the last", s.limits.Findings)
		said = append(said, f)
	}
	if f.Fatal() {
		if s.open != nil {
			said = append(said, s.close(Answer{Outcome: Unknown, Why: f.Problem, Read: f.At}))
		}
		s.over, s.partial, s.stepped = true, nil, nil
	}
	return said
}

// close ends the open request.
func (s *Session) close(a Answer) Answer {
	a.Request, a.Asked = *s.open, s.asked
	s.open = nil
	return a
}

// Hear takes what has been read from the child's stdout: any number of bytes,
// which need not end with a line.
func (s *Session) Hear(now time.Duration, data []byte) []Heard {
	var said []Heard
	for !s.over && !s.closing {
		end := bytes.IndexByte(data, '\n')
		part := data
		if end >= 0 {
			part = data[:end]
		}
		if len(s.partial)+len(part) > MaxLine {
			f := Finding{Kind: LongLine, At: now, Problem: fmt.Sprintf("writes a line of more than %d bytes", MaxLine)}
			f.quote(append(s.partial, part[:min(len(part), quoted+1)]...))
			return append(said, s.fail(f)...)
		}
		if end < 0 {
			s.partial = append(s.partial, part...)
			return said
		}
		whole := part
		if len(s.partial) > 0 {
			whole = append(s.partial, part...)
			s.partial = nil
		}
		if whole = bytes.TrimSpace(whole); len(whole) > 0 {
			said = append(said, s.message(now, whole)...)
		}
		data = data[end+1:]
	}
	return said
}

// quote keeps the beginning of a line.
func (f *Finding) quote(text []byte) {
	f.Bytes = len(text)
	f.Line = strings.ToValidUTF8(string(text[:min(len(text), quoted)]), "\uFFFD")
}

// finding is one about a line.
func (s *Session) finding(now time.Duration, kind Kind, text []byte, problem string, args ...any) []Heard {
	f := Finding{Kind: kind, At: now, Problem: fmt.Sprintf(problem, args...)}
	f.quote(text)
	return s.fail(f)
}

// message takes one line.
func (s *Session) message(now time.Duration, text []byte) []Heard {
	s.keep(Line{At: now, Text: strings.ToValidUTF8(string(text[:min(len(text), maxText)]), "\uFFFD")})
	kind, err := kindOf(text)
	switch {
	case err != nil:
		return s.finding(now, Prose, text, "writes a line that is no JSON object")
	case kind == "ready":
		return s.hearReady(now, text)
	case kind == "note":
		return s.hearNote(now, text)
	case kind == "step":
		return s.hearStep(now, text)
	case kind == "id":
		return s.hearAnswer(now, text)
	}
	return s.finding(now, Malformed, text, `writes an object without "ready", "id", "note" or "step"`)
}

func (s *Session) hearReady(now time.Duration, text []byte) []Heard {
	if s.ready != nil {
		return s.finding(now, OutOfTurn, text, "says a second time that it is ready")
	}
	r, err := decodeReady(text, millis(s.hello.TTL))
	if err != nil {
		return s.finding(now, Malformed, text, "its ready is not understood: %v", err)
	}
	s.ready, s.late = &r, 0
	return []Heard{r}
}

func (s *Session) hearStep(now time.Duration, text []byte) []Heard {
	w, err := decodeStep(text)
	switch {
	case err != nil:
		return s.finding(now, Malformed, text, "its step is not understood: %v", err)
	case w.ID != 0 && (s.open == nil || s.open.ID != w.ID):
		return s.finding(now, OutOfTurn, text, "waits at a step of request %d, which is not open", w.ID)
	case len(s.stepped) == maxSteps:
		return s.finding(now, OutOfTurn, text, "waits at more than %d steps at once", maxSteps)
	}
	step := Step{Step: w.Step, ID: w.ID, At: now}
	s.stepped = append(s.stepped, step)
	return []Heard{step}
}

// maxSteps bounds at how many steps a child may wait at once: that of its
// request, and some of threads in the background.
const maxSteps = 16

func (s *Session) hearNote(now time.Duration, text []byte) []Heard {
	w, err := decodeNote(text)
	if err != nil {
		return s.finding(now, Malformed, text, "its note is not understood: %v", err)
	}
	n := Note{Note: w.Note, At: now, Key: w.Key, Token: bounded(str(w.Token)), Fence: number(w.Fence), Left: number(w.Left)}
	if w.Valid != nil {
		// When the child sent its renewal only the child knows. It was after
		// the last line that it was sent: later would be a guess.
		if n.Until, err = s.until(s.sent, *w.Valid); err != nil {
			return s.finding(now, BadValidity, text, "%v", err)
		}
	}
	return []Heard{n}
}

// until is the end of a lease that counts from a moment.
func (s *Session) until(from time.Duration, ms float64) (time.Duration, error) {
	d, err := duration(ms)
	ttl := millis(s.hello.TTL)
	if s.ready != nil {
		ttl = s.ready.TTL
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("valid_ms of %w", err)
	case d > ttl:
		return 0, fmt.Errorf("says that a lease of %v is valid for %v", ttl, d)
	}
	return from + d, nil
}

func (s *Session) hearAnswer(now time.Duration, text []byte) []Heard {
	w, err := decodeAnswer(text)
	id, known := idOf(text)
	switch {
	case !known:
		return s.finding(now, Malformed, text, "its answer is not understood: %v", err)
	case id > s.last || id < 1:
		return s.finding(now, FutureAnswer, text, "answers request %d, which has not been sent", id)
	case id == s.gaveUp:
		s.gaveUp = 0
		return s.finding(now, LateAnswer, text, "answers request %d when it had been given up", id)
	case s.open == nil || id != s.open.ID:
		return s.finding(now, SecondAnswer, text, "answers request %d a second time", id)
	}
	a := Answer{Read: now}
	kind := Malformed
	if err == nil {
		kind, err = s.judge(&a, w)
	}
	if err == nil {
		return []Heard{s.close(a)}
	}
	problem := fmt.Sprintf("its answer to %s is not understood and counts as unknown: %v", s.open, err)
	// The answer first: fail may end the session, and would answer again.
	said := []Heard{s.close(Answer{Outcome: Unknown, Why: err.Error(), Read: now, Token: bounded(str(w.Token))})}
	return append(said, s.finding(now, kind, text, "%s", problem)...)
}

// judge fills in what the child answered to the open request.
func (s *Session) judge(a *Answer, w wireAnswer) (kind Kind, err error) {
	if a.Outcome, a.Why, err = w.outcome(s.open.Do); err != nil {
		return WrongAnswer, err
	}
	if a.Outcome == OK && w.Valid != nil {
		if a.Until, err = s.until(s.asked, *w.Valid); err != nil {
			return BadValidity, err
		}
	}
	switch acquired := a.Outcome == OK && s.open.Do == Acquire; {
	case acquired && s.ready.Has(CanDeadline) && w.Valid == nil:
		return WrongAnswer, errors.New("valid_ms is missing, though it can deadline")
	case acquired && s.ready.Has(CanFence) && w.Fence == nil:
		return WrongAnswer, errors.New("fence is missing, though it can fence")
	case len(str(w.Token)) > maxText:
		return WrongAnswer, fmt.Errorf("its token has %d bytes: want at most %d", len(*w.Token), maxText)
	}
	a.Token, a.Fence, a.Left, a.Seen = str(w.Token), number(w.Fence), number(w.Left), number(w.Seen)
	return "", nil
}
