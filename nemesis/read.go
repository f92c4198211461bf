package nemesis

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/internal/spelling"
	"github.com/lockcheck/lockcheck/internal/strictjson"
)

// Bounds of a schedule that is read.
const (
	maxSchedule = 16 << 20 // bytes
	maxName     = 64       // bytes of the nemesis's name, which goes into paths
)

// unnamed is the nemesis of a schedule that names none. A run always has one:
// without, nobody would ask whether its faults bit.
const unnamed = "schedule"

// ReadSchedule reads a schedule saved with a run, or written by hand. What
// would be played as nothing is a mistake and is named with its place; whether
// a cluster has the targets only the cluster knows.
func ReadSchedule(r io.Reader) (Schedule, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSchedule+1))
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	if len(data) > maxSchedule {
		return Schedule{}, fmt.Errorf("schedule: longer than %d MiB", maxSchedule>>20)
	}
	var s Schedule
	if _, err := strictjson.Unmarshal(data, &s); err != nil {
		if at, ok := errors.AsType[*strictjson.Error](err); ok {
			return Schedule{}, fmt.Errorf("schedule: line %d: %w", at.Line, err)
		}
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	if s.Format != Format {
		return Schedule{}, fmt.Errorf("schedule: format is %.40q, want %q", s.Format, Format)
	}
	if s.Nemesis == "" {
		s.Nemesis = unnamed
	}
	if err := s.check(); err != nil {
		return Schedule{}, fmt.Errorf("schedule: %w", err)
	}
	return s, nil
}

// Fits reports a fault that a run of the given length never comes to.
func (s Schedule) Fits(limit time.Duration) error {
	for i, e := range s.Episodes {
		if e.At >= limit {
			return fmt.Errorf("schedule: %s begins at %v, when the run of %v is over", e.place(i), e.At, limit)
		}
		for j, step := range e.Steps {
			if !step.Heals() && step.After >= limit {
				return fmt.Errorf("schedule: %s, step %d: %s comes after %v, when the run of %v is over", e.place(i), j+1, step.Fault.F, step.After, limit)
			}
		}
	}
	return nil
}

// place names an episode, which is the i-th from 0.
func (e Episode) place(i int) string {
	if e.Name == "" {
		return fmt.Sprintf("episode %d", i+1)
	}
	return fmt.Sprintf("episode %d (%.40q)", i+1, e.Name)
}

func (s Schedule) check() error {
	if err := checkName(s.Nemesis); err != nil {
		return err
	}
	if s.Nemesis == "none" && len(s.Episodes) > 0 {
		return errors.New(`nemesis is "none", which has no faults: want a name for these`)
	}
	for i, e := range s.Episodes {
		if err := inRun("at", e.At); err != nil {
			return fmt.Errorf("%s: %w", e.place(i), err)
		}
		if len(e.Steps) == 0 {
			return fmt.Errorf("%s has no steps", e.place(i))
		}
		for j, step := range e.Steps {
			if err := step.check(); err != nil {
				return fmt.Errorf("%s, step %d: %w", e.place(i), j+1, err)
			}
		}
	}
	return nil
}

// checkName reports a name of a nemesis that must not go into a path.
func checkName(name string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-_", r)
	}
	if len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return fmt.Errorf("nemesis is %.80q: want a name of at most %d letters, digits, \"-\", \"_\" and \"+\"", name, maxName)
	}
	return nil
}

// inRun reports a time that no run has.
func inRun(field string, d time.Duration) error {
	switch {
	case d < 0:
		return fmt.Errorf("%s is %v, before the run", field, d)
	case d > histories.LongestRun:
		return fmt.Errorf("%s is %v: no run is longer than %v", field, d, histories.LongestRun)
	}
	return nil
}

func (s Step) check() error {
	if err := inRun("after", s.After); err != nil {
		return err
	}
	if s.On != nil {
		if err := s.On.check(); err != nil {
			return fmt.Errorf("on: %w", err)
		}
	}
	return s.Fault.Check()
}

func (t Trigger) check() error {
	if len(t.F) == 0 {
		return errors.New("a trigger without f waits for nothing")
	}
	for _, f := range t.F {
		if !slices.Contains(histories.Functions(), f) {
			return unknown("nothing is", f, histories.Functions())
		}
	}
	types := []string{string(histories.Invoke), string(histories.OK), string(histories.Fail), string(histories.Info)}
	switch {
	case t.Type != "" && !slices.Contains(types, string(t.Type)):
		return unknown("no type is", string(t.Type), types)
	case t.Worker != nil && *t.Worker < 0:
		return fmt.Errorf("worker %d: they count from 0", *t.Worker)
	case t.Nth < 0:
		return fmt.Errorf("nth %d: want 1 for the first", t.Nth)
	}
	return errors.Join(inRun("lease", t.Lease), inRun("min-work", t.MinWork), inRun("within", t.Within))
}

// unknown says that there is no such word, and which one is near.
func unknown(what, word string, known []string) error {
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Errorf("%s called %.40q: did you mean %q?", what, word, near)
	}
	return fmt.Errorf("%s called %.40q", what, word)
}
