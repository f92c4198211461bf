package workload

import (
	"fmt"
	"strings"
	"time"
)

// A mixed fleet: while a new setting is rolled out, or where two teams share a
// lock, workers differ in how long a lease they ask for.

// SetTTL sets the lease of all workers, "5s", or of each in turn: "3s,500ms".
func (s *Spec) SetTTL(text string) error {
	longest := time.Duration(0)
	for one := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(one)
		if err != nil {
			return fmt.Errorf("%q is no duration", one)
		}
		longest = max(longest, d)
	}
	s.TTL, s.Leases = longest, ""
	if strings.Contains(text, ",") {
		s.Leases = text
	}
	return nil
}

// leases are those of a mixed fleet; nil if all workers have TTL.
func (s Spec) leases() ([]time.Duration, error) {
	if s.Leases == "" {
		return nil, nil
	}
	var all []time.Duration
	for one := range strings.SplitSeq(s.Leases, ",") {
		d, err := time.ParseDuration(one)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--ttl: %q is no duration", one)
		case d < time.Millisecond || d > s.TTL:
			return nil, fmt.Errorf("--ttl is %v: want 1ms to %v, the longest", d, s.TTL)
		}
		all = append(all, d)
	}
	return all, nil
}

// lease is how long a worker's lock lasts.
func (s Spec) lease(worker int) time.Duration {
	if all, err := s.leases(); err == nil && len(all) > 0 && worker >= 0 {
		return all[worker%len(all)]
	}
	return s.TTL
}

// ttl is the --ttl that sets it.
func (s Spec) ttl() string {
	if s.Leases != "" {
		return s.Leases
	}
	return s.TTL.String()
}
