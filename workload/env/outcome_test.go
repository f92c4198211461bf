package env_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lockcheck/lockcheck/workload/env"
)

func TestErrorsAreUnknownUnlessTheyCertainlyHadNoEffect(t *testing.T) {
	tests := []struct {
		name    string
		err     error
		unknown bool
	}{
		{"no error", nil, false},
		{"nothing was sent", fmt.Errorf("dial: %w", env.ErrRefused), false},
		{"no answer in time", env.ErrTimeout, true},
		{"the connection broke", env.ErrReset, true},
		{"a dial that took too long", fmt.Errorf("dial: %w: %w", env.ErrTimeout, env.ErrRefused), false},
		{"the caller gave up", context.DeadlineExceeded, true},
		{"an error nobody knows", errors.New("what?"), true},
		{"a replica refused the write", env.ServerError("READONLY You can't write against a read only replica."), false},
		{"a Redis error that is in no table", env.ServerError("ERR something"), true},
		{"an order that is there already", env.ServerError("1062 Duplicate entry 'w1-1' for key 'PRIMARY'"), false},
		{"a transaction chosen to end a deadlock", env.ServerError("1213 Deadlock found when trying to get lock; try restarting transaction"), false},
		{"a statement that waited too long for a row", env.ServerError("1205 Lock wait timeout exceeded; try restarting transaction"), false},
		{"a statement that was interrupted", env.ServerError("1317 Query execution was interrupted"), true},
		{"a commit that answered a definite error", fmt.Errorf("commit: %w: %w", env.ErrDoubt, env.ServerError("1213 Deadlock found")), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := env.Unknown(tt.err); got != tt.unknown {
				t.Errorf("Unknown(%v) = %v", tt.err, got)
			}
		})
	}
}
