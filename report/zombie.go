package report

import (
	"fmt"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
)

// zombieText says for how long keys were refused though nobody held them, after
// which faults; empty if they were not.
func zombieText(z *checker.Zombie) string {
	if z == nil {
		return ""
	}
	s := fmt.Sprintf("Keys were refused for up to %s though nobody held them (%s, from %s)", span(z.Longest), shorten(z.Key, 60), clock(z.From))
	if z.Stretches > 1 {
		s += fmt.Sprintf(", %s in all", span(z.Total))
	}
	var after []string
	for _, a := range z.After[:min(len(z.After), maxAfter)] {
		name := a.Fault
		if name == "" {
			name = "no fault"
		}
		if len(z.After) > 1 {
			name += " (" + span(a.Total) + ")"
		}
		after = append(after, shorten(name, 80))
	}
	if more := len(z.After) - len(after); more > 0 {
		after = append(after, fmt.Sprintf("%d more", more))
	}
	return s + ", after: " + strings.Join(after, ", ") + "."
}

// maxAfter bounds the faults that zombieText names.
const maxAfter = 4
