package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/explore"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/report"
	"github.com/lockcheck/lockcheck/run"
	"github.com/lockcheck/lockcheck/workload"
)

// runList shows what there is, or one thing in full.
func runList(_ context.Context, a *app, args []string) (int, error) {
	f := a.flags("list")
	if err := a.parse(f, args, 0, 1); err != nil {
		return 0, err
	}
	if f.NArg() == 0 {
		a.listAll()
		return exitValid, nil
	}
	name := f.Arg(0)
	if d, ok := a.designs().Find(name); ok {
		a.listDesign(d)
		return exitValid, nil
	}
	if n, ok := nemesis.Find(name); ok && name != nemesis.None {
		a.listNemesis(n)
		return exitValid, nil
	}
	if i := slices.Index(propertyNames(), name); i >= 0 {
		p := checker.Properties[i]
		fmt.Fprintf(a.stdout, "%s: %s level, broken when\n%s\n", p.Name, p.Level, paragraph(p.Broken, 78, "  "))
		return exitValid, nil
	}
	known := slices.Concat(a.designs().Names(), nemesis.Names())
	return 0, unknownName("design, nemesis or property", name, append(known, propertyNames()...))
}

func propertyNames() []string {
	var names []string
	for _, p := range checker.Properties {
		names = append(names, string(p.Name))
	}
	return names
}

func (a *app) listAll() {
	fmt.Fprintln(a.stdout, a.called("Designs (lockcheck list NAME shows one in full; ! = known bad, ✓ = sells right under every fault)"))
	for _, d := range a.designs() {
		mark := " "
		if d.KnownBad {
			mark = "!"
		} else if d.SellsRight() {
			mark = "✓"
		}
		a.row(mark+" "+d.Name, d.Summary)
	}
	fmt.Fprintln(a.stdout, "\nNemeses (a+b: together in one run; all: each in turn; mixed: all in one run)")
	for _, n := range nemesis.Catalogue {
		a.row("  "+n.Name, n.Summary)
	}
	fmt.Fprintln(a.stdout, "\nProperties")
	for _, p := range checker.Properties {
		a.row("  "+string(p.Name), string(p.Level)+": "+p.Broken)
	}
}

// row prints a name and a text beside it, wrapped to 80 columns.
func (a *app) row(name, text string) {
	const indent = 26
	pad := strings.Repeat(" ", indent)
	lines := report.Wrap(text, 79-indent)
	fmt.Fprintf(a.stdout, "%-*s%s\n", indent, name, lines[0])
	for _, l := range lines[1:] {
		fmt.Fprintf(a.stdout, "%s%s\n", pad, l)
	}
}

// paragraph is a text in lines of at most width columns, each behind indent.
func paragraph(text string, width int, indent string) string {
	return indent + strings.Join(report.Wrap(text, width-len(indent)), "\n"+indent)
}

func (a *app) listDesign(d workload.Design) {
	fmt.Fprintf(a.stdout, "%s: %s\n", d.Name, d.Summary)
	fmt.Fprintf(a.stdout, "from %s\n\n%s\n", cmp.Or(d.Origin, "this program"), paragraph(d.Document(), 79, ""))
	spec, err := d.Resolve(workload.Spec{})
	if err != nil {
		panic(err) // Program.check has resolved it
	}
	t := spec.Topology()
	var parts []string
	for _, part := range []struct {
		name string
		used bool
	}{
		{"a lock service (" + string(t.Lock) + ")", t.Lock != ""},
		{"a Redis for the stock", t.Stock},
		{"a SQL server", t.SQL},
		{"a message queue", t.Queue},
	} {
		if part.used {
			parts = append(parts, part.name)
		}
	}
	fmt.Fprintf(a.stdout, "\n%s\n", paragraph("runs on: "+strings.Join(parts, ", "), 79, ""))
	fmt.Fprintln(a.stdout, "\nclaims            lock       use        business")
	impossible := map[string]string{}
	for _, name := range nemesis.Names() {
		if why := impossibility(d, name); why != "" {
			impossible[name] = why
			fmt.Fprintf(a.stdout, "  %-16s–\n", name)
			continue
		}
		c := d.Claim(name)
		fmt.Fprintf(a.stdout, "  %-16s%-11s%-11s%s\n", name, c.Lock, c.Use, c.Business)
	}
	for _, name := range slices.Sorted(maps.Keys(impossible)) {
		fmt.Fprintf(a.stdout, "– %s: %s\n", name, impossible[name])
	}
	a.listDistance(d)
}

// listDistance says what a design claims to bear of package explore.
func (a *app) listDistance(d workload.Design) {
	reach, ok := workload.DistanceOf(d.Name)
	if !ok {
		return
	}
	fmt.Fprintln(a.stdout, "\nevery placement of few faults in a small scene (lockcheck explore)")
	for i, level := range explore.Levels {
		fmt.Fprintf(a.stdout, "  %-16s%s\n", level, reach[i])
	}
}

// impossibility is why a design cannot have a nemesis, so that it claims
// nothing there; "" if it can.
func impossibility(d workload.Design, name string) string {
	spec, err := d.Resolve(workload.Spec{})
	if err == nil {
		err = run.Feasible(run.Plan{Spec: spec, Nemesis: name, TimeLimit: spec.TimeLimit})
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (a *app) listNemesis(n nemesis.Nemesis) {
	fmt.Fprintf(a.stdout, "%s\n\nvariants (--variant plays one only):\n", paragraph(n.Name+": "+n.Summary, 79, ""))
	for _, v := range n.Variants {
		a.row("  "+v.Name, v.Summary)
	}
}
