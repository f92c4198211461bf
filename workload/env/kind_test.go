package env

import "testing"

func TestWhatAKindConsistsOf(t *testing.T) {
	for kind, want := range map[Kind]struct {
		known, replicated, independent bool
		redis                          int
	}{
		NoLock:       {known: true},
		Single:       {known: true, independent: true, redis: 1},
		Sentinel:     {known: true, replicated: true, redis: 3},
		Independent5: {known: true, independent: true, redis: 5},
		RedisCluster: {known: true, replicated: true, redis: 6},
		"ring":       {},
	} {
		s, ok := kind.Shape()
		if ok != want.known || s.Redis != want.redis || kind.Replicated() != want.replicated || kind.Independent() != want.independent {
			t.Errorf("%q: %+v, %v; replicated %v, independent %v", kind, s, ok, kind.Replicated(), kind.Independent())
		}
	}
	for _, kind := range Kinds() {
		if s, ok := kind.Shape(); !ok || s.Redis == 0 {
			t.Errorf("%q is listed and has no server", kind)
		}
	}
}
