package histories

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Recorder writes a history as it happens: the header at once, then each
// event as one line, handed to the writer in one Write before Record returns.
// It is safe for concurrent use. The zero Recorder is not usable.
type Recorder struct {
	mu        sync.Mutex
	w         io.Writer
	err       error
	observers []func(Event)
}

// NewRecorder writes the header to w and returns a recorder for the rest. It
// sets the header's format.
func NewRecorder(w io.Writer, h Header) (*Recorder, error) {
	h.Format = Format
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("history header: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("history header: %w", err)
	}
	return &Recorder{w: w}, nil
}

// Observe lets f see every event from now on, right after it was written and
// one at a time. f must not call the recorder.
func (r *Recorder) Observe(f func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observers = append(r.observers, f)
}

// Record appends one event. After the first error (a full disk) it writes
// nothing more, so that the history ends where it is still whole; the
// observers go on, and Err tells.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.write(e)
	}
	for _, f := range r.observers {
		f(e)
	}
}

func (r *Recorder) write(e Event) error {
	line, err := e.Line()
	if err != nil {
		return fmt.Errorf("event %s %s: %w", e.Type, e.F, err)
	}
	if _, err := r.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// Err is the first error of writing, nil if all is well.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
