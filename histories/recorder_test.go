package histories

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// full is a disk that takes so many writes and no more.
type full struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errFull
	}
	f.left--
	return f.Buffer.Write(p)
}

func TestRecorderStopsAtTheFirstErrorAndSaysSo(t *testing.T) {
	disk := &full{left: 2}
	r, err := NewRecorder(disk, Header{Design: "none"})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	r.Observe(func(Event) { seen++ })
	for op := range 3 {
		r.Record(Event{Type: Invoke, F: Sell, Op: int64(op + 1)})
	}
	if !errors.Is(r.Err(), errFull) {
		t.Errorf("Err() = %v, want %v", r.Err(), errFull)
	}
	if lines := strings.Count(disk.String(), "\n"); lines != 2 {
		t.Errorf("%d lines written, want header and one event:\n%s", lines, disk)
	}
	if seen != 3 {
		t.Errorf("observer saw %d events, want 3", seen)
	}
}

func TestRecorderCannotStartOnAFullDisk(t *testing.T) {
	if _, err := NewRecorder(&full{}, Header{}); !errors.Is(err, errFull) {
		t.Errorf("err = %v, want %v", err, errFull)
	}
}

func TestFoldersOfOneMomentDifferAndLatestIsTheLast(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	now := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	var last Folder
	seen := map[string]bool{}
	for range 3 {
		f, err := NewFolder(store, "redis-lock-failover", now)
		if err != nil {
			t.Fatal(err)
		}
		seen[f.Dir] = true
		last = f
	}
	if len(seen) != 3 {
		t.Errorf("folders %v, want 3", seen)
	}
	if err := last.Write(VerdictFile, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(store, Latest, VerdictFile))
	if err != nil || string(got) != "{}" {
		t.Errorf("latest/%s = %q, %v", VerdictFile, got, err)
	}
}
