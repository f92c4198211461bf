//go:build unix

package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockcheck/lockcheck/internal/wait"
)

// Clean removes what killed runs left behind, and says what it removed: worker
// processes of this executable that carry our mark, containers and networks
// that carry our label. Nothing else is touched, nor what belongs to a process
// of lockcheck that is alive, or that ran on another machine. Images stay.
func Clean(ctx context.Context) ([]string, error) {
	removed, err := cleanProcesses(ctx)
	e, connectErr := connect(ctx, slog.New(slog.DiscardHandler))
	if connectErr != nil {
		return removed, errors.Join(err, connectErr)
	}
	more, removeErr := e.remove(ctx, client.Filters{}.Add("label", ownLabel), owned)
	return append(removed, more...), errors.Join(err, removeErr, e.close())
}

// owned reports whether a labelled thing is not ours to remove: its maker is
// alive, or ran on another machine that shares the engine, where nobody here can
// tell, or it is no run's at all: a container that somebody started by hand
// from an image of ours has the image's label only.
func owned(labels map[string]string) bool {
	return labels[runLabel] == "" || labels[hostLabel] != machine() || alive(labels[ownerLabel])
}

// none spares nothing.
func none(map[string]string) bool { return false }

// cleanLimit bounds waiting for a killed process to be gone.
const cleanLimit = 5 * time.Second

// cleanProcesses kills worker processes whose lockcheck is dead.
func cleanProcesses(ctx context.Context) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, pid := range orphans(self) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			continue // gone by itself
		}
		err := wait.Until(ctx, cleanLimit, func(context.Context) error {
			if syscall.Kill(pid, 0) == nil && !zombie(pid) {
				return fmt.Errorf("process %d does not die", pid)
			}
			return nil
		})
		errs = append(errs, err)
		removed = append(removed, fmt.Sprintf("worker process %d", pid))
	}
	return removed, errors.Join(errs...)
}

// orphans are processes with our mark in their environment, of an executable
// of our name, whose maker is dead: where there is no /proc, none.
func orphans(self string) []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, dir := range entries {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !sameName(dir, self) {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		_, mark, marked := bytes.Cut(append([]byte{0}, environ...), []byte("\x00"+runMark+"="))
		maker, _, _ := bytes.Cut(mark, []byte{0})
		if err != nil || !marked || alive(string(maker)) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// sameName reports whether a process runs an executable of our name; it may
// have been rebuilt since.
func sameName(dir, self string) bool {
	exe, err := os.Readlink(filepath.Join(dir, "exe"))
	return err == nil && filepath.Base(strings.TrimSuffix(exe, " (deleted)")) == filepath.Base(self)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && strings.HasPrefix(rest, "Z")
}
