package report

import (
	"io/fs"
	"slices"
	"strings"
)

// plainFS is the part of a file system that a browser may see: visible, plain
// files and folders. Everything else does not exist in it: names that are not
// clean, hidden files, and whatever is reached over a link or is a device.
type plainFS struct{ under fs.FS }

var (
	_ fs.ReadDirFS = plainFS{}
	_ fs.StatFS    = plainFS{}
)

// Open opens a file or folder, if every part of its name is plain.
func (p plainFS) Open(name string) (fs.File, error) {
	if _, err := p.Stat(name); err != nil {
		return nil, err
	}
	return p.under.Open(name)
}

// Stat looks at every part of the name, not following links.
func (p plainFS) Stat(name string) (fs.FileInfo, error) {
	absent := &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return nil, absent
	}
	if name == "." {
		return fs.Stat(p.under, ".")
	}
	var info fs.FileInfo
	parts := strings.Split(name, "/")
	for i, part := range parts {
		var err error
		info, err = fs.Lstat(p.under, strings.Join(parts[:i+1], "/"))
		if err != nil || !visible(part, info.Mode()) {
			return nil, absent
		}
	}
	return info, nil
}

// ReadDir lists what is plain.
func (p plainFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := p.Stat(name); err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(p.under, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !visible(e.Name(), e.Type()) }), err
}

func visible(name string, mode fs.FileMode) bool {
	return !strings.HasPrefix(name, ".") && (mode.IsDir() || mode.IsRegular())
}
