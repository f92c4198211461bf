package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// version is of a server: major and minor.
type version [2]int

func (v version) since(w version) bool { return v[0] > w[0] || v[0] == w[0] && v[1] >= w[1] }

// oldest is the version that the model follows.
var oldest = version{7, 0}

// change is what newer servers do in another way than the model, without any
// difference for a lock or a shop.
type change struct {
	since version
	what  string
	alike cmp.Option // what is to be taken for the same, from then on
}

// changes are compared with Redis 7.0.15 and 8.0.2. A version that is not
// known yet is compared too: a difference that is not here fails the test, and
// is either mended in the model or gets a row.
var changes = []change{
	{version{7, 2}, "a number that is no integer is written in the fewest digits that mean it: 0.1, not 0.10000000000000001", cmp.Comparer(sameNumber)},
}

// arities are of commands that have got more options.
var arities = map[string]struct {
	since version
	arity int64
}{
	"zrank": {version{7, 2}, -3}, // WITHSCORE
}

// alike is what this version and the model may differ in.
func (v version) alike() cmp.Options {
	var all cmp.Options
	for _, c := range changes {
		if v.since(c.since) {
			all = append(all, c.alike)
		}
	}
	return all
}

func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err1 == nil && err2 == nil && x == y
}

func TestAVersionIsHeldToWhatItChanged(t *testing.T) {
	for _, c := range []struct {
		name        string
		real, model any
		same        bool // from 7.2 on; in 7.0 none is
	}{
		{"another notation of one number", "0.1", "0.10000000000000001", true},
		{"another number", "0.1", "0.2", false},
		{"another text", "a", "b", false},
		{"another error", Error("ERR syntax error in EVAL"), Error("ERR syntax error"), false},
		{"an error for a text", Error("0.1"), "0.1", false},
		{"another notation, deep in a reply", []any{"a", "1e+17"}, []any{"a", "100000000000000000"}, true},
	} {
		args := []string{"GET", "k"}
		if (version{7, 0}).difference(args, c.real, c.model) == "" {
			t.Errorf("%s: 7.0 may answer so", c.name)
		}
		for _, v := range []version{{7, 2}, {8, 0}, {255, 255}} {
			if got := v.difference(args, c.real, c.model) == ""; got != c.same {
				t.Errorf("%s: the same in %v: %v, want %v", c.name, v, got, c.same)
			}
		}
	}
}

func versionOf(t testing.TB, c *RealConn) version {
	t.Helper()
	v, err := parseVersion(c.Do("INFO", "server").(string))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// parseVersion reads what a server says of itself. Valkey says there which
// Redis it follows: 7.2.4.
func parseVersion(info string) (v version, err error) {
	_, text, _ := strings.Cut(info, "redis_version:")
	text, _, _ = strings.Cut(text, "\r\n")
	if _, err := fmt.Sscanf(text, "%d.%d.", &v[0], &v[1]); err != nil {
		return v, fmt.Errorf("redis_version:%.20q: %w", text, err)
	}
	if !v.since(oldest) {
		return v, fmt.Errorf("redis-server %d.%d: the model follows %d.%d and newer", v[0], v[1], oldest[0], oldest[1])
	}
	return v, nil
}

func TestVersionsAreRead(t *testing.T) {
	for info, want := range map[string]version{
		"# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:0\r\n": {7, 0},
		"redis_version:7.2.4\r\nvalkey_version:8.1.1\r\n":          {7, 2},
		"redis_version:8.0.2\r\n":                                  {8, 0},
		"redis_version:255.255.255\r\n":                            {255, 255}, // a build of the unstable branch
		"redis_version:6.2.1\r\n":                                  {},
		"redis_version:unstable\r\n":                               {},
		"":                                                         {},
	} {
		got, err := parseVersion(info)
		if refused := want == (version{}); refused != (err != nil) || !refused && got != want {
			t.Errorf("%q: %v, error %v, want %v", info, got, err, want)
		}
	}
}
