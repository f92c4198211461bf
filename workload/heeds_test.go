package workload

import (
	"slices"
	"testing"
)

func TestWhatADesignHeeds(t *testing.T) {
	for _, c := range []struct {
		flag string
		yes  []string
		no   []string
	}{
		{"acks", []string{"wait-lock", "cluster-lock", "async-failover"}, []string{"redis-lock", "row-lock", "lua-stock"}},
		{"ack-wait", []string{"wait-lock"}, []string{"watchdog"}},
		{"drift", []string{"redlock", "redlock-forgetful"}, []string{"redis-lock"}},
		{"nodes", []string{"redlock"}, []string{"redis-lock"}},
		{"renew", []string{"watchdog", "pubsub-lock"}, []string{"redis-lock", "redlock"}},
		{"retries", []string{"redis-lock", "redlock", "fenced"}, []string{"stock-lock", "spin-lock", "row-lock"}},
		{"wait", []string{"stock-lock", "spin-lock", "pubsub-lock"}, []string{"redis-lock"}},
		{"jitter", []string{"redis-lock", "stock-lock"}, []string{"none"}},
		{"lock-key", []string{"redis-lock"}, []string{"lua-stock"}},
		{"max-hold", []string{"redis-lock", "redlock"}, []string{"lua-stock"}},
		{"max-zombie", []string{"redis-lock"}, []string{"none"}},
		{"persistence", []string{"redis-lock"}, []string{"row-lock"}},
		{"skus", []string{"none"}, nil},
	} {
		for _, name := range slices.Concat(c.yes, c.no) {
			d, _ := Find(name)
			if got, want := d.Heeds(c.flag), slices.Contains(c.yes, name); got != want {
				t.Errorf("%s heeds --%s: %v, want %v", name, c.flag, got, want)
			}
		}
	}
}

// A renamed file would make a design heed nothing.
func TestEveryLockOfTheCatalogueIsFound(t *testing.T) {
	for _, d := range Designs() {
		if d.Lock != nil && lockCode(d.docs[0]) == "" {
			t.Errorf("%s: no source of its lock %s", d.Name, d.docs[0])
		}
		if d.Renews && !d.Heeds("renew") {
			t.Errorf("%s renews its lock and does not heed --renew", d.Name)
		}
	}
}
