package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/lockcheck/lockcheck/internal/strictjson"
)

// MaxLine is the longest line that a history may have, in bytes. A longer
// one is refused before it is held in memory.
const MaxLine = 16 << 20

// Errors that ReadJSON wraps, for callers that must tell kinds apart. All but
// ErrEmpty and ErrNoEvent come inside a LineError, which names the line.
var (
	ErrEmpty       = errors.New("empty history: want a header line and events")
	ErrNoEvent     = errors.New("a header and no event: nothing happened that could be judged")
	ErrFormat      = errors.New("not a history of format " + Format)
	ErrNotJSON     = errors.New("not JSON")
	ErrLineTooLong = fmt.Errorf("line longer than %d MiB", MaxLine>>20)
	ErrShape       = errors.New("not a line of a history")
	ErrEvent       = errors.New("invalid event")
	ErrDuplicate   = errors.New("used twice")
	ErrUnpaired    = errors.New("completion without an invocation")
)

// LineError is an error at one line of a history.
type LineError struct {
	Line int // from 1
	Err  error
}

// Error names the line first.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is what was wrong.
func (e *LineError) Unwrap() error { return e.Err }

// ReadJSON reads a history as JSON Lines: a header, then events. Invocations and
// completions are paired by op, wherever they stand: the streams of several
// workers may be merged in slight disorder. An operation without completion
// is Info and returns Never.
//
// A last line that is cut off is dropped with a note, because a run that was
// killed ends so. Anything else that is out of shape is an error that names
// the line. Memory is bounded by the operations plus a few blocks, whatever
// the input.
func ReadJSON(r io.Reader) (*History, error) {
	blocks := &blockReader{r: r}
	first, err := blocks.next()
	if err != nil {
		return nil, err
	}
	head, rest, lines := firstLine(first.data)
	if head == nil {
		return nil, ErrEmpty
	}
	p := newPairer()
	if p.h.Header, err = header(head); err != nil {
		return nil, &LineError{lines, err}
	}
	first.data = rest
	if err := readEvents(blocks, first, lines, sizeOf(r), p); err != nil {
		return nil, err
	}
	return p.history()
}

// firstLine splits off the first line that is not blank. lines counts it and
// the blank ones before it.
func firstLine(data []byte) (head, rest []byte, lines int) {
	for len(data) > 0 {
		line, after, _ := bytes.Cut(data, newline)
		lines++
		if len(bytes.TrimSpace(line)) > 0 {
			return line, after, lines
		}
		data = after
	}
	return nil, nil, lines
}

func header(line []byte) (Header, error) {
	var version struct {
		Format any `json:"format"`
	}
	// Another version may have other fields: it is asked for first, of whatever
	// is an object.
	if json.Unmarshal(line, &version) == nil && version.Format != Format {
		return Header{}, fmt.Errorf("%w: the header says format %s", ErrFormat, quoted(version.Format))
	}
	var h Header
	if _, err := strictjson.Unmarshal(line, &h); err != nil {
		return h, notStrict(err)
	}
	return h, h.check()
}

// quoted is a value for an error: "" where there is none.
func quoted(v any) string {
	if v == nil {
		v = ""
	}
	return fmt.Sprintf("%.40q", fmt.Sprint(v))
}

// sizeOf is the number of bytes that r has to give, 0 if it cannot tell.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case *os.File:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	case *sizedReader:
		return r.size
	case interface{ Len() int }:
		return int64(r.Len())
	}
	return 0
}

// readEvents decodes blocks on all cores and pairs their events in order.
func readEvents(blocks *blockReader, first *block, lines int, size int64, p *pairer) error {
	pipe := startPipe(blocks, first)
	defer pipe.stop()
	for b := range pipe.ordered {
		<-b.done
		p.expect(size, b)
		for i := range b.events {
			if err := p.add(&b.events[i], lines+int(b.lines[i])); err != nil {
				return &LineError{lines + int(b.lines[i]), err}
			}
		}
		if b.err != nil {
			return &LineError{lines + b.errLine, b.err}
		}
		if b.torn {
			p.note("the last line is cut off and was dropped")
		}
		lines += b.count
		pipe.reuse(b)
	}
	return blocks.err
}

// pipe decodes blocks in parallel and hands them on in order. At most cap(ordered)
// blocks are in memory.
type pipe struct {
	ordered chan *block
	work    chan *block
	free    chan *block
	quit    chan struct{}
	ended   chan struct{}
}

func startPipe(blocks *blockReader, first *block) *pipe {
	workers := runtime.GOMAXPROCS(0)
	p := &pipe{
		ordered: make(chan *block, 2*workers),
		work:    make(chan *block, 2*workers),
		free:    make(chan *block, 4*workers),
		quit:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	blocks.free = p.free
	go p.produce(blocks, first)
	for range workers {
		go func() {
			d := newDecoder()
			for b := range p.work {
				d.block(b)
				close(b.done)
			}
		}()
	}
	return p
}

func (p *pipe) produce(blocks *blockReader, b *block) {
	defer close(p.ended)
	defer close(p.work)
	defer close(p.ordered)
	for b != nil {
		select {
		case <-p.quit:
			return
		case p.ordered <- b:
			p.work <- b
		}
		b, blocks.err = blocks.next()
	}
}

// stop ends the producer, so that nobody reads from r after ReadJSON returned.
func (p *pipe) stop() {
	close(p.quit)
	<-p.ended
}

func (p *pipe) reuse(b *block) {
	select {
	case p.free <- b:
	default:
	}
}
