package wait

import (
	"context"
	"errors"
	"testing"
	"time"
)

var errNotYet = errors.New("not yet")

func TestUntilAnswersNilOrTheLastError(t *testing.T) {
	asked := 0
	err := Until(t.Context(), time.Minute, func(context.Context) error {
		if asked++; asked < 3 {
			return errNotYet
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	err = Until(t.Context(), 10*time.Millisecond, func(ctx context.Context) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errNotYet
	})
	if !errors.Is(err, errNotYet) {
		t.Errorf("after its limit: %v, want %v", err, errNotYet)
	}
}

func TestEachJoinsErrorsOfAll(t *testing.T) {
	err := Each([]error{nil, errNotYet, context.Canceled}, func(err error) error { return err })
	if !errors.Is(err, errNotYet) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Each(nil, func(error) error { return errNotYet }); err != nil {
		t.Error(err)
	}
}

func TestASleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
