package histories

import (
	"bytes"
	"io"
)

// blockSize is how much is read at once: some 8,000 lines, so that handing
// blocks around costs nothing per line. The first is small: most histories are.
const (
	blockSize  = 1 << 20
	firstBlock = 1 << 15
)

var newline = []byte{'\n'}

// block is a run of whole lines and what they decode to.
type block struct {
	buf  []byte // data and, behind it, the beginning of the next block's first line
	data []byte // whole lines; only the last block's last line may lack its newline
	last bool

	done    chan struct{} // closed when the fields below are set
	events  []Event
	lines   []int32 // of each event, from 1 within the block
	count   int     // lines
	torn    bool    // the last line is cut off and left out
	err     error
	errLine int
}

// blockReader cuts a stream into blocks at line ends.
type blockReader struct {
	r     io.Reader
	free  chan *block
	carry []byte // the beginning of a line whose end is not read yet
	lines int    // lines handed out so far
	size  int    // of the last read
	eof   bool
	err   error // set by the goroutine that calls next, read after it ended
}

// next is the next block, nil at the end.
func (br *blockReader) next() (*block, error) {
	if br.eof {
		return nil, nil
	}
	b := br.block()
	buf := append(b.buf[:0], br.carry...)
	for {
		n, err := br.fill(&buf)
		end := bytes.LastIndexByte(buf[len(buf)-n:], '\n')
		switch {
		case err == io.EOF:
			br.eof, b.last = true, true
			b.buf, b.data, br.carry = buf, buf, nil
			return b, nil
		case err != nil:
			return nil, err
		case end >= 0:
			end += len(buf) - n + 1
			b.buf, b.data, br.carry = buf, buf[:end], buf[end:]
			br.lines += bytes.Count(b.data, newline)
			return b, nil
		case len(buf) > MaxLine:
			br.eof = true
			return nil, &LineError{br.lines + 1, ErrLineTooLong}
		}
	}
}

// fill reads about one block more to the end of buf; n is how much came.
func (br *blockReader) fill(buf *[]byte) (n int, err error) {
	start := len(*buf)
	br.size = min(max(2*br.size, firstBlock), blockSize)
	if cap(*buf)-start < br.size {
		*buf = append(*buf, make([]byte, br.size)...)
	}
	*buf = (*buf)[:start+br.size]
	n, err = io.ReadFull(br.r, (*buf)[start:])
	*buf = (*buf)[:start+n]
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// block is a used block if there is one, else a new one. The carry may lie in
// another block's buffer: next copies it before that block can be reused.
func (br *blockReader) block() *block {
	select {
	case b := <-br.free:
		*b = block{buf: b.buf, events: b.events[:0], lines: b.lines[:0], done: make(chan struct{})}
		return b
	default:
		return &block{done: make(chan struct{})}
	}
}
