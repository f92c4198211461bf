// Package tail keeps the end of what a process prints.
package tail

import (
	"bytes"
	"sync"
)

// Tail is a writer that keeps the last Size bytes.
type Tail struct {
	Size int // default 2 KiB

	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	size := t.Size
	if size == 0 {
		size = 2 << 10
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[max(0, len(p)-size):]...)
	if over := len(t.b) - size; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

// String is what is kept, without white space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.b))
}
