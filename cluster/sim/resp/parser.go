package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a command, as of redis.conf's defaults or tighter.
const (
	mostArgs   = 64 << 10
	mostBulk   = 16 << 20
	mostInline = 64 << 10
)

// ErrProtocol is what a client sends that is no command. The server says so and
// closes the connection.
var ErrProtocol = errors.New("protocol error")

// Parser cuts the bytes of a client into commands. The zero value is ready.
type Parser struct {
	data []byte
	bad  error
}

// Feed takes bytes, which need not end with a command.
func (p *Parser) Feed(data []byte) { p.data = append(p.data, data...) }

// Next is the next whole command; nil if more bytes are needed. After an error
// there are no more commands.
func (p *Parser) Next() ([]string, error) {
	for p.bad == nil && len(p.data) > 0 {
		args, rest, err := p.cut()
		if err != nil {
			p.bad, p.data = fmt.Errorf("%w: %w", ErrProtocol, err), nil
			break
		}
		if rest == nil {
			return nil, nil
		}
		if p.data = rest; len(rest) == 0 {
			p.data = nil
		}
		if len(args) > 0 {
			return args, nil
		}
	}
	return nil, p.bad
}

// cut takes one command from the front. rest is nil if it is not whole yet.
func (p *Parser) cut() (args []string, rest []byte, err error) {
	if p.data[0] != '*' {
		return p.inline()
	}
	n, rest, err := number(p.data[1:], "multibulk length", mostArgs)
	if rest == nil || err != nil {
		return nil, nil, err
	}
	for range n {
		if len(rest) == 0 {
			return nil, nil, nil
		}
		if rest[0] != '$' {
			return nil, nil, fmt.Errorf("expected '$', got '%c'", rest[0])
		}
		var size int
		size, rest, err = number(rest[1:], "bulk length", mostBulk)
		if rest == nil || err != nil {
			return nil, nil, err
		}
		if size < 0 {
			return nil, nil, errors.New("invalid bulk length")
		}
		if len(rest) < size+2 {
			return nil, nil, nil
		}
		args = append(args, string(rest[:size]))
		rest = rest[size+2:]
	}
	return args, rest, nil
}

// inline is a command as people type it.
func (p *Parser) inline() ([]string, []byte, error) {
	i := bytes.IndexByte(p.data, '\n')
	switch {
	case i > mostInline || i < 0 && len(p.data) > mostInline:
		return nil, nil, errors.New("too big inline request")
	case i < 0:
		return nil, nil, nil
	}
	return strings.Fields(string(p.data[:i])), p.data[i+1:], nil
}

// number reads a length. rest is nil if its line is not whole yet.
func number(data []byte, what string, most int) (n int, rest []byte, err error) {
	i := bytes.Index(data, []byte("\r\n"))
	switch {
	case i < 0 && len(data) > 32:
		return 0, nil, errors.New("invalid " + what)
	case i < 0:
		return 0, nil, nil
	}
	n, err = strconv.Atoi(string(data[:i]))
	if err != nil || n > most {
		return 0, nil, errors.New("invalid " + what)
	}
	return n, data[i+2:], nil
}
