package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

// chart is a picture of values over the time of the run. It is drawn here as
// SVG, so that it needs no script, prints, and can be read out.
type chart struct {
	Title  string
	Text   string // what it shows, for those who do not see it
	Unit   string // of the values, in the legend
	Log    bool   // logarithmic values, in seconds
	Lines  []line
	From   int64 // ns: what is drawn
	End    int64
	Bands  []band
	Below  bool // shade what lies below zero
	Shaded string
}

// line is one series of a chart. Its number decides its colour and dashes.
type line struct {
	Name   string
	Points []point
	Steps  bool // the value holds until the next point
	Look   int  // 1 … 3
}

// The size of a chart in its own units; the page scales it.
const (
	chartWidth, chartHeight           = 720, 170
	chartLeft, chartRight             = 52, 708
	chartTop, chartBottom             = 8, 146
	chartInnerWidth, chartInnerHeight = chartRight - chartLeft, chartBottom - chartTop
	leastSecond                       = 1e-4 // the lowest value of a logarithmic chart
)

// SVG is the chart as markup. All text in it is escaped.
func (c chart) SVG() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(c.Title+". "+c.Text))
	lo, hi := c.extent()
	c.bands(&b)
	c.axes(&b, lo, hi)
	y := func(v float64) float64 { return c.y(v, lo, hi) }
	if c.Below && lo < 0 {
		fmt.Fprintf(&b, `<rect class="below" x="%d" y="%.1f" width="%d" height="%.1f"/>`, chartLeft, y(0), chartInnerWidth, chartBottom-y(0))
		fmt.Fprintf(&b, `<text class="belowtext" x="%d" y="%.1f">%s</text>`, chartLeft+6, y(0)+12, html.EscapeString(c.Shaded))
	}
	for _, l := range c.Lines {
		fmt.Fprintf(&b, `<path class="line l%d" d="%s"/>`, l.Look, c.path(l, y))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// extent is the least and the greatest value to draw.
func (c chart) extent() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			lo, hi = math.Min(lo, p.Y), math.Max(hi, p.Y)
		}
	}
	switch {
	case math.IsInf(lo, 1):
		return 0, 1
	case c.Log:
		return math.Max(leastSecond, math.Pow(10, math.Floor(math.Log10(math.Max(lo, leastSecond))))),
			math.Pow(10, math.Ceil(math.Log10(math.Max(hi, 2*leastSecond))))
	}
	lo = math.Min(lo, 0)
	if hi <= lo {
		hi = lo + 1
	}
	return lo, hi + (hi-lo)/20
}

func (c chart) x(at int64) float64 {
	share := float64(at-c.From) / math.Max(1, float64(c.End-c.From))
	return chartLeft + chartInnerWidth*math.Min(1, math.Max(0, share))
}

func (c chart) y(v, lo, hi float64) float64 {
	if c.Log {
		v, lo, hi = math.Log10(math.Max(v, leastSecond)), math.Log10(lo), math.Log10(hi)
	}
	return chartBottom - chartInnerHeight*(v-lo)/(hi-lo)
}

// bands shades the faults behind the lines.
func (c chart) bands(b *strings.Builder) {
	for _, f := range c.Bands {
		if f.To < c.From || f.From > c.End || f.F == histories.Healthy {
			continue
		}
		from, to := c.x(f.From), c.x(f.To)
		class := "fault"
		if f.Moment {
			class = "moment"
		}
		fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"><title>%s</title></rect>`,
			class, from, chartTop, math.Max(1, to-from), chartInnerHeight, html.EscapeString(f.Label+" at "+clock(f.From)))
	}
}

// axes draws the scales with their numbers.
func (c chart) axes(b *strings.Builder, lo, hi float64) {
	for _, v := range c.ticks(lo, hi) {
		y := c.y(v, lo, hi)
		fmt.Fprintf(b, `<path class="grid" d="M%d %.1fH%d"/><text class="tick" x="%d" y="%.1f" text-anchor="end">%s</text>`,
			chartLeft, y, chartRight, chartLeft-6, y+3.5, html.EscapeString(c.label(v)))
	}
	step := c.timeStep(7)
	for at := (c.From + step - 1) / step * step; at <= c.End; at += step {
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s s</text>`, c.x(at), chartBottom+16, strconv.FormatFloat(float64(at)/1e9, 'f', decimals(float64(step)/1e9), 64))
	}
}

// timeStep is 1, 2 or 5 times a power of ten nanoseconds, so that n steps or fewer
// cover the run. Times count in whole numbers: a scale of some nanoseconds, days
// after zero, would not advance in others.
func (c chart) timeStep(n int64) int64 {
	for base := int64(1); ; base *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if c.End-c.From <= n*m*base {
				return base * m
			}
		}
	}
}

func (c chart) label(v float64) string {
	if c.Log {
		return span(int64(v * 1e9))
	}
	return digits(v)
}

// ticks are round values between lo and hi.
func (c chart) ticks(lo, hi float64) []float64 {
	var list []float64
	if c.Log {
		for v := lo; v <= hi*1.001; v *= 10 {
			list = append(list, v)
		}
		return list
	}
	step := niceStep(hi-lo, 5)
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		list = append(list, v)
	}
	return list
}

// decimals is how many decimals tell values apart that differ by a step.
func decimals(step float64) int { return max(0, int(math.Ceil(-math.Log10(step)-1e-9))) }

// niceStep is 1, 2 or 5 times a power of ten, so that n steps or fewer cover
// a range.
func niceStep(size float64, n int) float64 {
	if size <= 0 {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(size/float64(n))))
	for _, m := range []float64{1, 2, 5} {
		if size/(base*m) <= float64(n) {
			return base * m
		}
	}
	return base * 10
}

// maxPoints is how many points of a line are drawn; more would not be seen.
const maxPoints = 1500

// path draws one line.
func (c chart) path(l line, y func(float64) float64) string {
	points := l.Points
	if every := (len(points) + maxPoints - 1) / maxPoints; every > 1 {
		var few []point
		for i := 0; i < len(points); i += every {
			few = append(few, points[i])
		}
		points = append(few, points[len(points)-1])
	}
	var b strings.Builder
	for i, p := range points {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%.1f %.1f", c.x(p.At), y(p.Y))
		case l.Steps:
			fmt.Fprintf(&b, "H%.1fV%.1f", c.x(p.At), y(p.Y))
		default:
			fmt.Fprintf(&b, "L%.1f %.1f", c.x(p.At), y(p.Y))
		}
	}
	if l.Steps && len(points) > 0 {
		fmt.Fprintf(&b, "H%d", chartRight)
	}
	return b.String()
}

// chartsOf are the pictures below the timeline.
func chartsOf(h *histories.History, v *checker.Verdict, bands []band) (stock, speed []chart) {
	ledgers, _ := ledgersOf(h, v.Violations)
	for _, l := range ledgers {
		stock = append(stock, l.chart(bands))
	}
	sold, refused, unknown := rates(h)
	speed = append(speed, chart{
		Title: "Sells per second", Unit: "per second", End: h.End, Bands: bands,
		Text:  "How many sells ended per second, by outcome.",
		Lines: []line{{Name: "sold", Points: sold, Look: 1}, {Name: "refused", Points: refused, Look: 2}, {Name: "unknown", Points: unknown, Look: 3}},
	})
	for _, f := range []string{histories.Acquire, histories.Sell} {
		q, answered := quantiles(h, f)
		if answered == 0 {
			continue
		}
		speed = append(speed, chart{
			Title: "Latency of " + f, Log: true, End: h.End, Bands: bands,
			Text:  "How long answers took, of " + plural(answered, f) + ".",
			Lines: []line{{Name: "median", Points: q[0], Look: 1}, {Name: "95 %", Points: q[1], Look: 2}, {Name: "99 %", Points: q[2], Look: 3}},
		})
	}
	return stock, speed
}

// chart draws a ledger.
func (l ledger) chart(bands []band) chart {
	margin := max(1, (l.Last-l.First)/20)
	c := chart{
		Title: l.Key, Unit: "units", From: max(0, l.First-margin), End: l.Last + margin, Bands: bands, Below: true,
		Text: balance(checker.Counts{Sold: l.Sold, Had: l.Had, Oversold: max(0, l.Sold-l.Had)}),
		Lines: []line{
			{Name: "stock, as the store said", Points: l.Stock, Steps: true, Look: 1},
			{Name: "units had minus units ordered", Points: l.Orders, Steps: true, Look: 2},
		},
	}
	if over := l.Sold - l.Had; over > 0 {
		c.Shaded = units(over) + " sold that did not exist"
	}
	return c
}
