package proxy

import (
	"bytes"
	"regexp"
	"strconv"
)

// Addresses rewrites the replies of one connection: servers that tell where
// others are (SENTINEL, ROLE, INFO, CLUSTER, MOVED, ASK, +switch-master) shall
// tell where their proxies are. A proxy listens on the port of its server, so
// that only hosts differ. The zero value of all but Hosts is ready.
type Addresses struct {
	// Hosts has for the host of each server, an IPv4 address, that of its proxy.
	Hosts map[string]string

	held []byte // a piece that is not whole yet
	long int    // how much is still to come of a bulk string that is too long to look at
}

var ipv4 = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+`)

// mostHeld bounds what is kept of a piece that is not whole: a longer one tells
// no address.
const mostHeld = 1 << 20

// Reply is for Tap.Reply. What is not whole yet comes with the next piece.
func (a *Addresses) Reply(p []byte) []byte {
	a.held = append(a.held, p...)
	var out []byte
	for len(a.held) > 0 {
		if n := min(a.long, len(a.held)); n > 0 {
			out, a.held, a.long = append(out, a.held[:n]...), a.held[n:], a.long-n
			continue
		}
		n, text := a.piece()
		if n == 0 {
			break
		}
		out = append(out, text...)
		a.held = a.held[n:]
	}
	if len(a.held) > mostHeld {
		out, a.held = append(out, a.held...), nil
	}
	if len(a.held) == 0 {
		a.held = nil
	}
	return out
}

// piece is the first line, with the bulk string that it announces, as it is to
// be passed on. n is its length before that, 0 if it is not whole.
func (a *Addresses) piece() (n int, text []byte) {
	end := bytes.Index(a.held, []byte("\r\n"))
	if end < 0 {
		return 0, nil
	}
	line := a.held[:end]
	if len(line) == 0 {
		return end + 2, a.held[:end+2]
	}
	size, err := strconv.Atoi(string(line[1:]))
	isBulk := (line[0] == '$' || line[0] == '=') && err == nil && size >= 0
	switch {
	case !isBulk:
		return end + 2, append(a.moved(line), '\r', '\n')
	case size > mostHeld/2:
		a.long = size + 2
		return end + 2, a.held[:end+2]
	case len(a.held) < end+2+size+2:
		return 0, nil
	}
	content := a.moved(a.held[end+2 : end+2+size])
	text = append(text, line[0])
	text = strconv.AppendInt(text, int64(len(content)), 10)
	text = append(text, "\r\n"...)
	text = append(text, content...)
	return end + 2 + size + 2, append(text, "\r\n"...)
}

// moved is a text with the hosts of proxies for those of servers.
func (a *Addresses) moved(text []byte) []byte {
	return ipv4.ReplaceAllFunc(bytes.Clone(text), func(host []byte) []byte {
		if to, known := a.Hosts[string(host)]; known {
			return []byte(to)
		}
		return host
	})
}
