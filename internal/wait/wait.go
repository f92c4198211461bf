// Package wait has what waits in real time: for a moment, for several at once,
// for something to become so.
package wait

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Each calls f for all of items at once and joins the errors.
func Each[T any](items []T, f func(T) error) error {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i, item := range items {
		wg.Go(func() { errs[i] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Sleep waits, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Until asks again and again until the answer is nil, for limit at most; the
// error is the last answer.
func Until(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil { // not: "context deadline exceeded"
			last = err
		}
		if Sleep(ctx, 20*time.Millisecond) != nil {
			return last
		}
	}
}
