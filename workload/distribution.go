package workload

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Distribution says how long something takes or how many are wanted: parts
// separated by commas, each a share of the draws and a range that is drawn
// from evenly.
//
//	distribution = part { "," part }
//	part         = [ share "%:" ] value [ "-" value ]
//	value        = a duration ("20ms", "1.5s"), or a share of the TTL ("40%ttl"),
//	               or, for quantities, a whole number
//
// "1ms-20ms,10%:40%ttl-70%ttl" takes 1 to 20 ms nine times out of ten and 40
// to 70 % of the TTL otherwise. Parts without a share split what the others
// leave.
type Distribution []Part

// Part is one part of a Distribution.
type Part struct {
	Share    float64 // of the draws, 0 to 1
	From, To int64   // nanoseconds or units, both included
}

// Durations reads a distribution of durations. ttl is what "%ttl" refers to.
func Durations(s string, ttl time.Duration) (Distribution, error) {
	return parse(s, func(v string) (int64, error) {
		if share, ok := strings.CutSuffix(v, "%ttl"); ok {
			return shareOf(ttl, v, share)
		}
		d, err := time.ParseDuration(v)
		switch {
		case err != nil || d < 0:
			return 0, fmt.Errorf("%q is no duration", v)
		case d > longest:
			return 0, fmt.Errorf("%q is longer than %v", v, longest)
		}
		return int64(d), nil
	})
}

// Bounds of one value: a run takes a day at the most, and nobody buys more.
const (
	longest  = 24 * time.Hour
	greatest = 1_000_000_000
)

// shareOf is a share of the TTL in percent. NaN and the infinities are numbers
// to ParseFloat, and no duration.
func shareOf(ttl time.Duration, v, share string) (int64, error) {
	f, err := strconv.ParseFloat(share, 64)
	d := f / 100 * float64(ttl)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(f), math.IsInf(f, 0) && err == nil, f < 0:
		return 0, fmt.Errorf("%q is no share of the TTL", v)
	case ttl == 0:
		return 0, fmt.Errorf("%q: this design has no ttl", v)
	case d > float64(longest):
		return 0, fmt.Errorf("%q of %v is longer than %v", v, ttl, longest)
	}
	return int64(d), nil
}

// Quantities reads a distribution of whole numbers from 1.
func Quantities(s string) (Distribution, error) {
	return parse(s, func(v string) (int64, error) {
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange) || n < 1:
			return 0, fmt.Errorf("%q is no quantity", v)
		case n > greatest:
			return 0, fmt.Errorf("%q is more than %d", v, greatest)
		}
		return n, nil
	})
}

func parse(s string, value func(string) (int64, error)) (Distribution, error) {
	var d Distribution
	rest, sharers := 1.0, 0
	for text := range strings.SplitSeq(s, ",") {
		p, err := parsePart(strings.TrimSpace(text), value)
		if err != nil {
			return nil, err
		}
		if p.Share < 0 {
			sharers++
		} else {
			rest -= p.Share
		}
		d = append(d, p)
	}
	switch {
	case rest < -1e-9:
		return nil, fmt.Errorf("%q: the shares are more than 100 %%", s)
	case sharers == 0 && rest > 1e-9:
		return nil, fmt.Errorf("%q: the shares are less than 100 %%", s)
	}
	for i := range d {
		if d[i].Share < 0 {
			d[i].Share = max(0, rest) / float64(sharers)
		}
	}
	return d, nil
}

// parsePart reads one part; its share is -1 if it names none.
func parsePart(s string, value func(string) (int64, error)) (Part, error) {
	p := Part{Share: -1}
	if share, after, ok := strings.Cut(s, "%:"); ok {
		f, err := strconv.ParseFloat(share, 64)
		if err != nil || !(f >= 0 && f <= 100) { // nor NaN
			return p, fmt.Errorf("%q is no share in percent", share)
		}
		p.Share, s = f/100, after
	}
	low, high, isRange := strings.Cut(s, "-")
	var err error
	if p.From, err = value(low); err != nil {
		return p, err
	}
	if p.To = p.From; isRange {
		if p.To, err = value(high); err != nil {
			return p, err
		}
	}
	if p.To < p.From {
		return p, fmt.Errorf("%q ends before it begins", s)
	}
	return p, nil
}

// Draw draws from the distribution. An empty one gives 0.
func (d Distribution) Draw(r *rand.Rand) int64 {
	if len(d) == 0 {
		return 0
	}
	last := d[len(d)-1]
	for f, i := r.Float64(), 0; i < len(d); i++ {
		if f -= d[i].Share; f < 0 {
			last = d[i]
			break
		}
	}
	return last.From + r.Int64N(last.To-last.From+1)
}

// Mean is the mean of the draws.
func (d Distribution) Mean() float64 {
	var m float64
	for _, p := range d {
		m += p.Share * float64(p.From+p.To) / 2
	}
	return m
}

// Max is the largest draw.
func (d Distribution) Max() int64 {
	var m int64
	for _, p := range d {
		m = max(m, p.To)
	}
	return m
}
