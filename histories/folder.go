package histories

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := os.MkdirAll(f.Path(LogFolder), 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(f.Path(LogFolder), server+".log"))
	if err != nil {
		return err
	}
	_, err = io.Copy(file, log)
	return errors.Join(err, file.Close())
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
	tmp := f.Path("." + file + ".tmp")
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, f.Path(file))
}
