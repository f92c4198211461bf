package checker

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/histories"
)

// The sentences of a verdict are for tired people: short words, times in
// seconds since the start of the run, no more digits than tell something.

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func workerName(p histories.Process) string {
	if p >= 0 {
		return "worker " + p.String()
	}
	return p.String()
}

// length is a duration: "1.84 s", "350 ms", "12 µs".
func length(ns int64) string {
	switch d := time.Duration(ns); {
	case d >= time.Second:
		return trim(fmt.Sprintf("%.2f", d.Seconds())) + " s"
	case d >= time.Millisecond:
		return trim(fmt.Sprintf("%.1f", float64(ns)/1e6)) + " ms"
	case d >= time.Microsecond:
		return trim(fmt.Sprintf("%.1f", float64(ns)/1e3)) + " µs"
	}
	return fmt.Sprintf("%d ns", ns)
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// moment is an instant of the run: "12.91 s", "0.350 s".
func moment(ns int64) string { return fmt.Sprintf("%.*f s", digits(ns), float64(ns)/1e9) }

func digits(ns int64) int {
	if ns >= int64(time.Second) {
		return 2
	}
	return 3
}

// span is "from 12.91 s to 14.75 s", with as many digits as it takes to tell
// its ends apart.
func span(from, to int64) string {
	n := digits(to - from)
	for unit := time.Millisecond; n < 9 && to > from && to-from < int64(unit); unit /= 1000 {
		n += 3
	}
	return fmt.Sprintf("from %.*f s to %.*f s", n, float64(from)/1e9, n, float64(to)/1e9)
}

// count is "1 unit", "3 units".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// few joins names, but no more than five of them.
func few(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + sprintf(" and %d more", len(names)-5)
	}
	return strings.Join(names, ", ")
}
