//go:build own

package redislock

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/bsm/redislock"
)

// TestOwnTokens gives each worker a name for its token: worker-1 to worker-12.
func TestOwnTokens(t *testing.T) {
	var workers atomic.Int64
	play(t, func() *redislock.Options {
		return &redislock.Options{Token: fmt.Sprintf("worker-%d", (workers.Add(1)-1)%12+1)}
	})
}
