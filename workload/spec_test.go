package workload

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

func TestResolvedFillsInTheDefaults(t *testing.T) {
	s, err := Spec{Design: "stock-lock", Workers: 4}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if s.Workers != 4 || s.TTL != 3*time.Second || s.RetryDelay != 5*time.Millisecond || s.Wait != 100*time.Millisecond {
		t.Errorf("given or the article's settings lost: %+v", s)
	}
	if s.SKUs != 12 || s.Renew != time.Second || s.Batches < 10 {
		t.Errorf("standard settings missing: %+v", s)
	}
}

func TestResolvedNamesTheFlag(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Design: "redis-look"}, "--design"},
		{Spec{Design: "redis-lock", Workload: "auction"}, "--workload"},
		{Spec{Design: "redis-lock", Work: "soon"}, "--work:"},
		{Spec{Design: "redis-lock", Qty: "0"}, "--qty:"},
		{Spec{Design: "redis-lock", Workers: -1}, "--concurrency"},
		{Spec{Design: "redis-lock", TTL: time.Microsecond}, "--ttl"},
		{Spec{Design: "redis-lock", LockKey: "shop"}, "--lock-key"},
		{Spec{Design: "redis-lock", StockOn: OnSQL}, "--stock-on"},
		{Spec{Design: "redis-lock", Customers: 3}, "--customers"},
		{Spec{Design: "redis-lock", Nodes: 4}, "--nodes"},
	} {
		_, err := c.spec.Resolved()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one that names %s", c.spec, err, c.want)
		}
	}
}

func TestALargerBatchHasMoreCustomers(t *testing.T) {
	few, err := Spec{Design: "idempotent-lock", Seed: 1}.Resolved()
	if err != nil || few.Customers < 1 || int64(few.Customers) < few.Stock {
		t.Errorf("%d customers for %d units, %v", few.Customers, few.Stock, err)
	}
	many, err := Spec{Design: "idempotent-lock", Seed: 1, Stock: 10_000}.Resolved()
	if err != nil || many.Customers != 20_000 {
		t.Errorf("%d customers for 10,000 units, %v", many.Customers, err)
	}
}

func TestFlashSaleIsTheArticlesScene(t *testing.T) {
	s, err := Spec{Design: "lua-stock", Workload: FlashSale}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	if s.Workers != 1000 || s.Stock != 100 || s.SKUs != 1 || s.Batches != 1 {
		t.Errorf("want 1,000 customers for 100 units of one article: %+v", s)
	}
}

func TestEveryDesignResolvesOnEachPlaceOfItsStock(t *testing.T) {
	for _, d := range Designs() {
		for _, on := range d.StockOn {
			s, err := Spec{Design: d.Name, StockOn: on}.Resolved()
			if err != nil {
				t.Errorf("%s with stock on %s: %v", d.Name, on, err)
			}
			if again, _ := s.Resolved(); again.Spec != s.Spec {
				t.Errorf("%s: resolving twice gives another spec: %s", d.Name, cmp.Diff(s.Spec, again.Spec))
			}
		}
	}
}

func TestHeaderAndTopology(t *testing.T) {
	s, err := Spec{Design: "redis-lock", StockOn: OnLock, TTL: time.Second}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	h := s.Header()
	if diff := cmp.Diff(histories.LockSpec{TTL: time.Second, Grace: time.Second}, h.Lock); diff != "" {
		t.Error(diff)
	}
	if h.Initial != 5 || h.Settings["stock-on"] != "lock" || h.Format != histories.Format {
		t.Errorf("header %+v", h)
	}
	if got, want := s.Topology(), (env.Topology{Lock: env.Sentinel, Persistence: "none"}); got != want {
		t.Errorf("topology %+v, want %+v", got, want)
	}
	if own, err := (Spec{Design: "redis-lock"}).Resolved(); err != nil || !own.Topology().Stock {
		t.Error("the stock has no Redis of its own")
	}
}

func TestSpecSurvivesJSON(t *testing.T) {
	s, err := Spec{Design: "redis-lock"}.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(text, &back); err != nil || back != s.Spec {
		t.Errorf("error %v, %s", err, cmp.Diff(s.Spec, back))
	}
}

func TestEveryDesignIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Designs() {
		if seen[d.Name] {
			t.Errorf("%s is listed twice", d.Name)
		}
		seen[d.Name] = true
		if d.Summary == "" || d.Origin == "" || d.Sale == nil || len(d.StockOn) == 0 || len(d.docs) == 0 {
			t.Errorf("%s lacks its summary, origin or sale", d.Name)
		}
		if (d.Lock == nil) != d.LockSpec.None {
			t.Errorf("%s: a lock and Lock.None contradict each other", d.Name)
		}
		for _, n := range d.docs {
			if len(comments()[n]) < 100 {
				t.Errorf("%s: the doc comment of %s is missing or says nothing", d.Name, n)
			}
		}
		for n := range d.Claims {
			if !slices.Contains(Nemeses, n) {
				t.Errorf("%s claims something about %q, which is no nemesis", d.Name, n)
			}
		}
		if d.KnownBad == (d.CaughtBy == "") {
			t.Errorf("%s: known-bad designs, and only they, say what catches them", d.Name)
		}
	}
}

func TestClaimsOfJoinedFaults(t *testing.T) {
	d := Design{Claims: map[string]Claim{
		"pause": {Holds, Holds, Breaks}, "clock": {Holds, MayBreak, Holds},
	}}
	if got, want := d.Claim("pause+clock"), (Claim{Holds, MayBreak, Breaks}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := d.Claim("loss"); got != (Claim{}) {
		t.Errorf("a fault nothing is claimed about: %v, want may break", got)
	}
}
