package workload

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// mostOf bounds what takes memory and processes: a slip of the finger must not
// take the machine.
var mostOf = map[string]int64{
	"concurrency": 10_000, "per-host": 10_000, "skus": 10_000, "stock": 1e12,
	"batches": 1e6, "segments": 1000, "customers": 1e9, "max-ops": 1e9,
}

// check says what is wrong with a Spec whose defaults are filled in.
func (s Spec) check(d Design) error {
	atLeast := func(flag string, n, least int64) error {
		switch most := mostOf[flag]; {
		case n < least:
			return fmt.Errorf("--%s is %d: want at least %d", flag, n, least)
		case most > 0 && n > most:
			return fmt.Errorf("--%s is %d: want at most %d", flag, n, most)
		}
		return nil
	}
	positive := func(flag string, d time.Duration) error {
		if d < time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("--%s is %v: want 1ms to 24h", flag, d)
		}
		return nil
	}
	optional := func(flag string, d time.Duration) error {
		if d == 0 {
			return nil
		}
		return positive(flag, d)
	}
	_, leasesErr := s.leases()
	_, workErr := Durations(s.Work, s.TTL)
	_, thinkErr := Durations(s.Think, s.TTL)
	_, qtyErr := Quantities(s.Qty)
	return errors.Join(
		oneOf("workload", s.Workload, Stock, FlashSale),
		oneOf("scene", s.Scene, Standard, Contended),
		atLeast("concurrency", int64(s.Workers), 1),
		atLeast("per-host", int64(s.PerHost), 1),
		atLeast("max-ops", int64(s.MaxOps), 0),
		atLeast("skus", int64(s.SKUs), 1),
		atLeast("stock", s.Stock, 1),
		atLeast("batches", int64(s.Batches), 0),
		atLeast("segments", int64(s.Segments), 1),
		atLeast("customers", int64(s.Customers), s.leastCustomers()),
		atLeast("retries", int64(s.Retries), -1),
		leasesErr, named("work", workErr), named("think", thinkErr), named("qty", qtyErr),
		positive("time-limit", s.TimeLimit), positive("ttl", s.TTL), positive("grace", s.Grace),
		positive("retry-delay", s.RetryDelay), positive("wait", s.Wait), positive("renew", s.Renew),
		positive("ack-wait", s.AckWait), optional("max-hold", s.MaxHold), optional("max-zombie", s.MaxZombie),
		oneOf("nodes", strconv.Itoa(s.Nodes), "3", "5"),
		oneOf("lock-key", s.LockKey, GrainSKU, GrainCategory, GrainUserSKU, GrainSegment),
		oneOf("stock-on", s.StockOn, d.StockOn...),
		oneOf("persistence", s.Persistence, "none", "everysec", "always"),
	)
}

// leastCustomers is how many customers it takes to buy a batch up, if each
// buys it once.
func (s Spec) leastCustomers() int64 {
	if s.Customers == 0 {
		return 0
	}
	return s.Stock
}

func named(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

func oneOf(flag, value string, of ...string) error {
	if slices.Contains(of, value) {
		return nil
	}
	return fmt.Errorf("--%s is %q: want one of %q", flag, value, of)
}
