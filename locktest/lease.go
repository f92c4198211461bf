package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// lease is the longest time to live that a key has on a server once a lone worker
// was granted the lock; 0 if no key has any.
func lease(t *testing.T, s *subject) (ttl time.Duration, err error) {
	probe := *s
	probe.Wait = time.Minute
	sc := &scene{subject: &probe, calm: true}
	synctest.Test(t, func(*testing.T) { ttl, err = sc.lease() })
	return ttl, err
}

func (s *scene) lease() (time.Duration, error) {
	s.open()
	w := newWorker(s, 0)
	l := w.born()
	defer s.shut(w)
	ctx, cancel := context.WithTimeout(l.ctx, s.Wait)
	defer cancel()
	h, err := l.lock.Acquire(ctx, key(0))
	if err == nil && h == nil {
		err = errors.New("neither a hold nor an error")
	}
	if err != nil {
		return 0, fmt.Errorf("locktest: a lone worker was not granted the lock: %w", err)
	}
	var longest time.Duration
	for _, server := range s.servers {
		keys, _ := server.redis.Do("KEYS", "*").([]any)
		for _, k := range keys {
			if ms, ok := server.redis.Do("PTTL", k.(string)).(int64); ok {
				longest = max(longest, time.Duration(ms)*time.Millisecond)
			}
		}
	}
	if err := h.Release(ctx); err != nil {
		return 0, fmt.Errorf("locktest: a lone worker could not release the lock: %w", err)
	}
	return longest, nil
}
