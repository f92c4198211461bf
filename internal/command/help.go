package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const helpText = `lockcheck shows whether a lock keeps a shop from selling more than it has.

Usage: lockcheck VERB [flags]

Try first:
  lockcheck run                          every design under a failover, simulated
  lockcheck run --design=redis-lock      one design, in detail
  lockcheck run --cluster=docker --design=redis-lock    the same on real Redis

Verbs:
`

const helpExit = `
Exit codes: 0 valid, 1 invalid, 3 unknown, 130 interrupted, 254 wrong usage,
255 lockcheck or its environment broke. Results go to standard output,
everything else to standard error.
`

func runHelp(ctx context.Context, a *app, args []string) (int, error) {
	if len(args) > 0 {
		if code, err := a.dispatch(ctx, args[0], []string{"--help"}); err != nil {
			return code, err
		}
		return exitValid, nil
	}
	fmt.Fprint(a.stdout, a.called(helpText))
	for _, v := range verbs() {
		if !v.hidden {
			fmt.Fprintf(a.stdout, "  %-13s %s\n", v.name, v.summary)
		}
	}
	fmt.Fprint(a.stdout, helpExit)
	return exitValid, nil
}

// groups are the headings of the flags of run, in the order of its help.
var groups = []string{"Run", "Workload", "Lock", "Own program", "Cluster", "Output"}

// groupOf is the annotation with a flag's heading.
const groupOf = "group"

// group puts the flags that have no heading yet under one.
func group(s *pflag.FlagSet, heading string) {
	s.VisitAll(func(flag *pflag.Flag) {
		if flag.Annotations == nil {
			flag.Annotations = map[string][]string{groupOf: {heading}}
		}
	})
}

// usageOf is the help text of the flags, each under its heading; those that have
// none stand first.
func usageOf(s *pflag.FlagSet) string {
	const columns = 80
	text := map[string]*strings.Builder{"": {}}
	for _, g := range groups {
		text[g] = &strings.Builder{}
	}
	heading := ""
	for line := range strings.Lines(s.FlagUsagesWrapped(columns)) {
		if name, starts := strings.CutPrefix(line, "      --"); starts {
			heading = ""
			if i := strings.IndexAny(name, " [\n"); i >= 0 {
				name = name[:i]
			}
			if g := s.Lookup(name).Annotations[groupOf]; len(g) > 0 {
				heading = g[0]
			}
		}
		text[heading].WriteString(line)
	}
	var all strings.Builder
	all.WriteString(text[""].String())
	for _, g := range groups {
		if text[g].Len() > 0 {
			fmt.Fprintf(&all, "\n%s:\n%s", g, text[g])
		}
	}
	return strings.TrimPrefix(all.String(), "\n")
}

// examples of the verbs that have many flags.
var examples = map[string]string{
	"run":     "lockcheck run --design=redis-lock,watchdog --nemesis=pause --ttl=3s\n  lockcheck run --design=redlock --nemesis=restart --runs=100 --all-runs",
	"search":  "lockcheck search --design=redlock --nemesis=restart --property=double-hold",
	"explore": "lockcheck explore --design=redlock --deviations=2 --kinds=freeze,restart\n  lockcheck explore --design=all",
	"redis":   "lockcheck redis --sentinel --nemesis=failover\n  lockcheck redis --schedule=store/latest/schedule.json",
	"bench":   "lockcheck bench --design=redis-lock,spin-lock,row-lock --time-limit=10s",
}
