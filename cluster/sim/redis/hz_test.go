package redis

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// BenchmarkLockAfterTTL measures a claim of the second article: that a lock
// whose ttl has run out stays for tens of milliseconds, until Redis' periodic
// expiry (hz) comes by, so that who retries every 5 ms finds it taken. A real
// server is asked by SET NX every millisecond, beside 10,000 other keys that
// expire at the same time.
//
//	go test ./cluster/sim/redis -run xxx -bench LockAfterTTL -benchtime 50x
func BenchmarkLockAfterTTL(b *testing.B) {
	const ttl, others = 200 * time.Millisecond, 10_000
	px := strconv.FormatInt(ttl.Milliseconds(), 10)
	for _, hz := range []string{"1", "10", "100"} {
		b.Run("hz="+hz, func(b *testing.B) {
			server := launch(b, "--hz", hz)
			var late, most time.Duration
			for b.Loop() {
				batch := make([][]string, others)
				for i := range batch {
					batch[i] = []string{"SET", fmt.Sprintf("other:%d", i), "x", "PX", px}
				}
				server.Pipeline(batch...)
				if reply := server.Do("SET", "lock", "a", "NX", "PX", px); reply != "OK" {
					b.Fatalf("a free lock is not granted: %v", reply)
				}
				end := time.Now().Add(ttl)
				for server.Do("SET", "lock", "b", "NX", "PX", "1000") != "OK" {
					time.Sleep(time.Millisecond)
				}
				d := time.Since(end)
				late, most = late+d, max(most, d)
				server.Do("DEL", "lock")
			}
			b.ReportMetric(float64(late.Microseconds())/float64(b.N), "µs-late")
			b.ReportMetric(float64(most.Microseconds()), "µs-late-max")
		})
	}
}
