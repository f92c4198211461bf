package redis

import (
	"math"
	"strconv"
	"strings"
)

// integer reads a 64-bit integer as strictly as the server: no plus sign, no
// leading zeros, no spaces.
func integer(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if len(s) == 0 || len(s) > 20 || digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	if digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// float reads a floating point number, infinities too.
func float(s string) (float64, bool) {
	if s == "" || strings.ContainsAny(s, " \t\n\r_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// formatFloat words a score as replies do: 17 significant digits, the fewest
// that are exact.
func formatFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == math.Trunc(f) && math.Abs(f) < 1e17:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// add sums two numbers and reports whether the sum fits.
func add(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}
