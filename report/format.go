package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// count writes a whole number with thin groups that any font and terminal
// has: "1,204,113".
func count[T ~int | ~int64 | ~uint64](n T) string {
	s := fmt.Sprint(n)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	if len(s) < 5 {
		return sign + s
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(s[i])
	}
	return sign + b.String()
}

// span writes a length of time (ns) with three digits: "1.84 s", "320 ms".
func span(ns int64) string {
	d := float64(ns)
	switch abs := math.Abs(d); {
	case abs == 0:
		return "0 s"
	case abs < 999.5:
		return strconv.FormatInt(ns, 10) + " ns"
	case abs < 999.5e3:
		return digits(d/1e3) + " µs"
	case abs < 999.5e6:
		return digits(d/1e6) + " ms"
	case abs < 600e9:
		return digits(d/1e9) + " s"
	}
	return fmt.Sprintf("%.1f min", d/60e9)
}

// digits writes a number below 1000 with three digits, and larger ones whole.
func digits(x float64) string {
	if x == 0 {
		x = 0 // and not -0
	}
	switch abs := math.Abs(x); {
	case abs < 9.995:
		return trimZeros(strconv.FormatFloat(x, 'f', 2, 64))
	case abs < 99.95:
		return trimZeros(strconv.FormatFloat(x, 'f', 1, 64))
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// trimZeros takes the zeros off the end of a decimal fraction.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// signed is span with its sign: "+25 s".
func signed(ns int64) string {
	if ns > 0 {
		return "+" + span(ns)
	}
	return span(ns)
}

// clock writes a moment of the run (ns since its start): "12.904 s".
func clock(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// plain makes text safe for a terminal and for one line: control characters
// and others that move the cursor or the reading direction are written out as
// escapes. A key named "\x1b[2J" must not clear anybody's screen.
func plain(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }

// shorten cuts text in the middle to at most n columns: ends of keys and
// tokens tell as much as their beginnings.
func shorten(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	runes := []rune(s)
	head, tail := 0, len(runes)
	for used := 1; head < tail; {
		if used += wide(runes[head]); used > n {
			break
		}
		head++
		if used += wide(runes[tail-1]); used > n {
			break
		}
		tail--
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

// columns is how many columns of a terminal text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += wide(r)
	}
	return n
}

// doubleWidth are the ranges of characters that take two columns: East Asian
// scripts and pictographs.
var doubleWidth = [][2]rune{
	{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
	{0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD},
}

// wide is the number of columns that a printable character takes.
func wide(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	for _, w := range doubleWidth {
		if w[0] <= r && r <= w[1] {
			return 2
		}
	}
	return 1
}

// pad fills text up to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columns(s))) }

// Wrap breaks text into lines of at most width columns (never fewer than 10):
// at spaces, or inside a word that is longer than a line.
func Wrap(s string, width int) []string {
	width = max(width, 10)
	var lines []string
	for _, line := range fold(s, width) {
		for left := columns(line); left > width; { // one long word
			head, rest := split(line, width)
			lines, line, left = append(lines, head), rest, left-columns(head)
		}
		lines = append(lines, line)
	}
	return lines
}

// fold breaks a text between words only. A longer word has a line of its own.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && columns(line)+1+columns(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split cuts a word after width columns.
func split(word string, width int) (head, rest string) {
	used := 0
	for i, r := range word {
		if used += wide(r); used > width && i > 0 {
			return word[:i], word[i:]
		}
	}
	return word, ""
}

// spanOf is span for templates.
func spanOf[T ~int64](d T) string { return span(int64(d)) }
