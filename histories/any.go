package histories

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
)

// ReadAny reads a history of either kind, told apart by how it begins: ours
// with a JSON object, Jepsen's with an EDN map, vector or tag.
func ReadAny(r io.Reader) (*History, error) {
	size := sizeOf(r)
	br := bufio.NewReaderSize(r, 1<<16)
	edn, err := looksLikeEDN(br)
	if err != nil {
		return nil, err
	}
	if edn {
		return ReadEDN(br)
	}
	return ReadJSON(&sizedReader{br, size})
}

// ReadFile is ReadAny on a file.
func ReadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, err := ReadAny(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// looksLikeEDN looks at the first bytes that are no space.
func looksLikeEDN(r *bufio.Reader) (bool, error) {
	head, err := r.Peek(1 << 12)
	if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
		return false, err
	}
	head = bytes.TrimLeft(head, " \t\r\n,")
	if len(head) == 0 {
		return false, nil
	}
	if head[0] == '{' {
		inside := bytes.TrimLeft(head[1:], " \t\r\n,")
		return len(inside) > 0 && inside[0] == ':', nil
	}
	return bytes.IndexByte([]byte("[(#;"), head[0]) >= 0, nil
}

// sizedReader is a reader that knows how much it has to give.
type sizedReader struct {
	io.Reader
	size int64
}
