package sql

import (
	"fmt"
	"testing"
	"time"
)

// stocked is a server with a row of stock for each of n keys.
func stocked(b *testing.B, n int) *DB {
	db := New(func() time.Time { return time.Unix(0, 0) })
	s := db.Session()
	must(b, s, "CREATE TABLE stock (k VARCHAR(64) PRIMARY KEY, stock BIGINT, version BIGINT)")
	must(b, s, "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, k VARCHAR(64), order_id VARCHAR(96) UNIQUE, qty BIGINT, KEY (k))")
	for i := range n {
		must(b, s, "INSERT INTO stock (k, stock, version) VALUES (?, ?, 0)", key(i), 1_000_000_000)
	}
	return db
}

func key(i int) string { return fmt.Sprintf("sku-%d#%d", i%10, i) }

func must(b *testing.B, s *Session, query string, args ...any) Result {
	r, err := s.Do(query, args...)
	if err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return r
}

// Each iteration is one statement: compare with 100,000 a second.
func BenchmarkStatement(b *testing.B) {
	tests := []struct{ name, query string }{
		{"plain read by key", "SELECT stock FROM stock WHERE k = ?"},
		{"locking read by key", "SELECT stock FROM stock WHERE k = ? FOR UPDATE"},
		{"update by key", "UPDATE stock SET stock = stock - 1 WHERE k = ? AND stock >= 1"},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			s := stocked(b, 1000).Session()
			b.ReportAllocs()
			for i := range b.N {
				must(b, s, tt.query, key(i%1000))
			}
		})
	}
}

// Each iteration is a purchase under a row lock: five statements.
func BenchmarkPurchase(b *testing.B) {
	s := stocked(b, 1000).Session()
	b.ReportAllocs()
	for i := range b.N {
		k := key(i % 1000)
		must(b, s, "BEGIN")
		must(b, s, "SELECT stock FROM stock WHERE k = ? FOR UPDATE", k)
		must(b, s, "UPDATE stock SET stock = stock - ? WHERE k = ?", 1, k)
		must(b, s, "INSERT INTO orders (k, order_id, qty) VALUES (?, ?, ?)", k, fmt.Sprint("order-", i), 1)
		must(b, s, "COMMIT")
	}
}
