package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// benchDocument is the comparison as JSON. Times are in milliseconds.
type benchDocument struct {
	Source  string        `json:"source"`
	Designs []benchDesign `json:"designs"`
	Claims  []benchClaim  `json:"claims"`
}

type benchDesign struct {
	Design         string  `json:"design"`
	Skipped        string  `json:"skipped,omitempty"` // why it was not measured
	Sells          int     `json:"sells"`             // that succeeded
	Tries          int     `json:"tries"`
	Oversold       int64   `json:"oversold"`
	SellsPerSecond float64 `json:"sells_per_second"`
	P50            float64 `json:"p50_ms"`
	P95            float64 `json:"p95_ms"`
	P99            float64 `json:"p99_ms"`
}

// benchClaim is what an article says; 0 measured is not measured.
type benchClaim struct {
	Design   string  `json:"design"`
	Than     string  `json:"than"`
	Claimed  float64 `json:"claimed"`
	Measured float64 `json:"measured,omitempty"`
	Text     string  `json:"text"`
}

func benchJSON(w io.Writer, rows []benchRow, source string) error {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	document := benchDocument{Source: source, Designs: []benchDesign{}}
	for _, r := range rows {
		document.Designs = append(document.Designs, benchDesign{
			Design: r.design, Skipped: r.na, Sells: r.sells, Tries: r.tries, Oversold: r.oversold,
			SellsPerSecond: r.perSecond, P50: ms(r.p50), P95: ms(r.p95), P99: ms(r.p99),
		})
	}
	for _, c := range articleClaims {
		document.Claims = append(document.Claims, benchClaim{c.design, c.than, c.ratio, c.measured(rows), c.text})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}

// measured is the ratio that came out; 0 if one of the two was not measured.
func (c claim) measured(rows []benchRow) float64 {
	if slow := speedOf(rows, c.than); slow > 0 {
		return speedOf(rows, c.design) / slow
	}
	return 0
}

func (a *app) printBench(rows []benchRow, source string) {
	base := speedOf(rows, "row-lock")
	if source != "" {
		source = ", on " + source
	}
	fmt.Fprintf(a.stdout, "no faults%s\n\n", source)
	fmt.Fprintf(a.stdout, "%-20s %7s %9s %7s %7s %7s %6s %8s\n", "design", "sells/s", "×row-lock", "p50", "p95", "p99", "sold %", "oversold")
	for _, r := range rows {
		if r.na != "" {
			fmt.Fprintf(a.stdout, "%-20s %s\n", r.design, r.na)
			continue
		}
		ratio := "-"
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", r.perSecond/base)
		}
		sold := 0.0
		if r.tries > 0 {
			sold = 100 * float64(r.sells) / float64(r.tries)
		}
		fmt.Fprintf(a.stdout, "%-20s %7.0f %9s %7s %7s %7s %6.1f %8d\n", r.design, r.perSecond, ratio,
			short(r.p50), short(r.p95), short(r.p99), sold, r.oversold)
	}
	fmt.Fprintln(a.stdout)
	for _, c := range articleClaims {
		measured := "not measured"
		if ratio := c.measured(rows); ratio > 0 {
			measured = fmt.Sprintf("measured %.2f", ratio)
		}
		fmt.Fprintf(a.stdout, "%s\n    %s / %s: claimed %.2f, %s\n", c.text, c.design, c.than, c.ratio, measured)
	}
}

func speedOf(rows []benchRow, design string) float64 {
	i := slices.IndexFunc(rows, func(r benchRow) bool { return r.design == design })
	if i < 0 {
		return 0
	}
	return rows[i].perSecond
}

// short prints a duration in three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return strings.TrimSpace(d.Round(time.Microsecond).String())
}
