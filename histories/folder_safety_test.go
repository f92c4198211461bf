package histories

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWritersFollowNoLinkAndLeaveNothingBehind(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Folder{Dir: t.TempDir()}
	for _, name := range []string{VerdictFile, "." + VerdictFile + ".tmp"} {
		if err := os.Symlink(outside, f.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(VerdictFile, []byte("verdict")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken off")
	if err := WriteFile(f.Path(ReportFile), func(w io.Writer) error { io.WriteString(w, "half"); return broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if got, _ := os.ReadFile(outside); string(got) != "untouched" {
		t.Errorf("what a link points at is %q now", got)
	}
	info, err := os.Lstat(f.Path(VerdictFile))
	if err != nil || !info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v, want a plain file", VerdictFile, info.Mode(), err)
	}
	if left, _ := os.ReadDir(f.Dir); len(left) != 2 { // the verdict and the planted link
		t.Errorf("left behind: %v", left)
	}
	if _, err := f.Create(VerdictFile); !errors.Is(err, os.ErrExist) {
		t.Errorf("a new file in the place of another: %v, want %v", err, os.ErrExist)
	}
}

func TestReadFileUpToReadsPlainFilesOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.json")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	endless := filepath.Join(dir, "endless")
	if err := os.Symlink("/dev/zero", endless); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFileUpTo(path, 5); err != nil || string(got) != "12345" {
		t.Errorf("%q, %v", got, err)
	}
	for name, limit := range map[string]int64{path: 4, endless: 100, dir: 100, filepath.Join(dir, "none"): 100} {
		if got, err := ReadFileUpTo(name, limit); err == nil {
			t.Errorf("%s was read: %d bytes", name, len(got))
		}
	}
}

func TestAFolderIsNamedByAPlainNameOnly(t *testing.T) {
	store := t.TempDir()
	for _, cell := range []string{"", "a/b", "../a", ".a", `a\b`, strings.Repeat("x", 300)} {
		if f, err := NewFolder(store, cell, time.Unix(0, 0)); err == nil {
			t.Errorf("%q made %s", cell, f.Dir)
		}
	}
	if _, err := NewFolder(store, "redis-lock-failover+clock", time.Unix(0, 0)); err != nil {
		t.Error(err)
	}
	if err := (Folder{Dir: store}).KeepLog("../redis-1", strings.NewReader("")); err == nil {
		t.Error("a log outside of its folder")
	}
}
