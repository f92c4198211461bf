package record

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// sighting is one line or span that a rule fits.
type sighting struct {
	is           string
	from, at     int64 // ns since 1970; from is at, but of a span
	where        int   // the line or span, from 1
	worker, host string
	key, token   string
	stock, order string
	qty          int64
	fence, left  histories.Num
	until        histories.Num // ns since 1970
}

// attributes are the fields of one line or span by the names that it gives them.
type attributes func(name string) (value string, there bool)

// see makes a sighting of what a rule fits. groups are those that its expressions
// named.
func (m *Map) see(r *Rule, groups map[string]string, has attributes) (s sighting, err error) {
	field := func(name string) string {
		if v := groups[name]; v != "" {
			return v
		}
		for _, names := range []map[string]string{r.Fields, m.Fields} {
			if attribute := names[name]; attribute != "" && has != nil {
				v, _ := has(attribute)
				return v
			}
		}
		return ""
	}
	s = sighting{is: r.Is, worker: field("worker"), host: field("host"), key: field("key"), token: field("token"), order: field("order"), stock: field("stock"), qty: 1}
	switch {
	case s.worker == "" && s.host == "":
		return s, fmt.Errorf("it names no worker")
	case s.key == "" && s.is != sold && s.is != wrote:
		return s, fmt.Errorf("it names no key")
	case s.stock == "" && s.key == "":
		return s, fmt.Errorf("it names no stock")
	}
	for _, n := range []struct {
		name string
		into *histories.Num
	}{{"fence", &s.fence}, {"left", &s.left}} {
		if text := field(n.name); text != "" {
			if n.into.N, err = strconv.ParseInt(text, 10, 64); err != nil {
				return s, fmt.Errorf("%s is %.40q: want a whole number", n.name, text)
			}
			n.into.Known = true
		}
	}
	if text := field("qty"); text != "" {
		if s.qty, err = strconv.ParseInt(text, 10, 64); err != nil || s.qty < 1 {
			return s, fmt.Errorf("qty is %.40q: want a whole number from 1", text)
		}
	}
	if text := field("until"); text != "" {
		until, err := m.moment(text)
		if err != nil {
			return s, fmt.Errorf("until: %w", err)
		}
		s.until = histories.N(until)
	}
	if text := field("time"); text != "" {
		if s.at, err = m.moment(text); err != nil {
			return s, fmt.Errorf("time: %w", err)
		}
		s.from = s.at
	}
	return s, nil
}

// name is the worker of a sighting: hosts have their own numbers of processes.
func (s *sighting) name() string {
	return strings.Trim(s.host+"/"+s.worker, "/")
}

// decimal reads a number with a fraction, of some unit, in nanoseconds.
func decimal(text string, unit int64) (int64, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "eEpPxX/") {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() || n.Int64() == math.MinInt64 {
		return 0, fmt.Errorf("%.40q is no time", text)
	}
	return n.Int64(), nil
}
