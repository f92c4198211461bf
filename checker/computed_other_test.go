//go:build !unix

package checker

import "time"

var started = time.Now()

// computed is the time since the start: this system does not tell processor time.
func computed() time.Duration { return time.Since(started) }
