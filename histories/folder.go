package histories

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of a run folder. Check and report need only the history.
const (
	HistoryFile  = "history.jsonl"
	RunFile      = "run.json"
	VerdictFile  = "verdict.json"
	ReportFile   = "report.html"
	PictureFile  = "porcupine.html"
	ScheduleFile = "schedule.json"
	LogFolder    = "logs"   // what real servers wrote, one file a server
	Latest       = "latest" // a link in the store to the last run folder
)

// Folder is where one run keeps its files: store/<time>-<design>-<nemesis>.
type Folder struct{ Dir string }

// NewFolder makes a folder in the store, named after the time and the cell,
// and points the store's link "latest" at it.
func NewFolder(store, cell string, now time.Time) (Folder, error) {
	if err := plainName(cell); err != nil {
		return Folder{}, fmt.Errorf("run folder: %w", err)
	}
	base := now.UTC().Format("20060102T150405.000Z") + "-" + cell
	if err := os.MkdirAll(store, 0o755); err != nil {
		return Folder{}, fmt.Errorf("store: %w", err)
	}
	for n := 1; n < 1000; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		dir := filepath.Join(store, name)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return Folder{}, fmt.Errorf("run folder: %w", err)
		}
		return Folder{dir}, pointLatest(store, name)
	}
	return Folder{}, fmt.Errorf("run folder: %s and 999 more exist already", base)
}

// MakeStore makes sure that runs can be kept in a store, so that a mistake shows
// before the work and not after it.
func MakeStore(store string) error {
	if err := os.MkdirAll(store, 0o755); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	probe, err := os.MkdirTemp(store, ".probe-")
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	latest := filepath.Join(store, Latest)
	if info, err := os.Lstat(latest); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return errors.Join(os.Remove(probe), fmt.Errorf("store: %s is in the way: it should be a link to the last run", latest))
	}
	return os.Remove(probe)
}

// pointLatest replaces the link in one step, so that nobody sees it missing.
func pointLatest(store, name string) error {
	next := filepath.Join(store, ".latest-"+name)
	if err := os.Symlink(name, next); err != nil {
		return fmt.Errorf("latest: %w", err)
	}
	if err := os.Rename(next, filepath.Join(store, Latest)); err != nil {
		os.Remove(next)
		return fmt.Errorf("latest: %w", err)
	}
	return nil
}

// KeepLog writes what a server wrote to logs/<server>.log.
func (f Folder) KeepLog(server string, log io.Reader) error {
	if err := plainName(server); err != nil {
		return err
	}
	if err := os.MkdirAll(f.Path(LogFolder), 0o755); err != nil {
		return err
	}
	return WriteFile(filepath.Join(f.Path(LogFolder), server+".log"), func(w io.Writer) error {
		_, err := io.Copy(w, log)
		return err
	})
}

// Create makes a file of the folder that is not there yet, to be written as
// the run goes on.
func (f Folder) Create(file string) (*os.File, error) {
	return os.OpenFile(f.Path(file), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// Path is the path of one of the folder's files.
func (f Folder) Path(file string) string { return filepath.Join(f.Dir, file) }

// WriteJSON writes v as indented JSON, whole or not at all.
func (f Folder) WriteJSON(file string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return f.Write(file, append(data, '\n'))
}

// Write writes a file, whole or not at all.
func (f Folder) Write(file string, data []byte) error {
	return WriteFile(f.Path(file), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFile writes a file, whole or not at all. It writes beside it, under a
// name that nobody can foresee and that must not exist, and then puts it in
// its place: a link that somebody planted at either is replaced, never
// followed.
func WriteFile(path string, write func(io.Writer) error) error {
	tmp := filepath.Join(filepath.Dir(path), "."+rand.Text()+".tmp")
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return nil
}

// ReadFileUpTo reads a plain file of at most limit bytes. A device, a pipe or
// a longer file is an error, and costs neither memory nor time.
func ReadFileUpTo(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path) // opening a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return data, err
}

// plainName reports what may not become part of a path.
func plainName(name string) error {
	if name == "" || len(name) > 200 || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%.60q cannot be the name of a file", name)
	}
	return nil
}
