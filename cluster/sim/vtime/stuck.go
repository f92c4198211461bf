package vtime

import (
	"errors"
	"fmt"
)

// This file is about runs that cannot go on: what ends them, and whom it
// names.

// Errors with which a run ends that cannot go on.
var (
	// ErrDeadlock: every task sleeps forever.
	ErrDeadlock = errors.New("deadlock")
	// ErrNoProgress: a task runs on and on without letting time pass.
	ErrNoProgress = errors.New("no time passes")
)

// StuckError says which task ended a run, and what it was doing.
type StuckError struct {
	Task  string // "worker-3"
	Doing string // "acquire of lock:sku-1 (op 42), waiting for GET lock:sku-1 from redis-1"
	Err   error  // ErrDeadlock, ErrNoProgress or what it panicked with
	Stack string // of a panic
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s, in %s: %v", e.Task, e.Doing, e.Err)
}

func (e *StuckError) Unwrap() error { return e.Err }

func (s *Scheduler) deadlock() error {
	var errs []error
	for _, t := range s.tasks {
		errs = append(errs, &StuckError{Task: t.Name, Doing: t.doing(), Err: fmt.Errorf("%w: nothing will wake it", ErrDeadlock)})
	}
	if errs == nil {
		errs = append(errs, ErrDeadlock)
	}
	return errors.Join(errs...)
}

// Stuck answers an error if all of tasks sleep and none will be woken.
func (s *Scheduler) Stuck(tasks []*Task) error {
	for _, t := range tasks {
		if !t.parked || t.until-s.Now < Forever/2 || t.proc.Paused {
			return nil
		}
	}
	var errs []error
	for _, t := range tasks {
		errs = append(errs, &StuckError{Task: t.Name, Doing: t.doing(), Err: fmt.Errorf("%w: every worker sleeps forever", ErrDeadlock)})
	}
	return errors.Join(errs...)
}

func (s *Scheduler) noTimePasses(e *event) error {
	if e.task == nil {
		return fmt.Errorf("%w: %d events at %v", ErrNoProgress, s.instant, s.Now)
	}
	return s.spinning(e.task, fmt.Sprintf("it was woken again and again at %v", s.Now))
}

func (s *Scheduler) spinning(t *Task, how string) error {
	return &StuckError{Task: t.Name, Doing: t.doing(), Err: fmt.Errorf("%w: %s", ErrNoProgress, how)}
}
