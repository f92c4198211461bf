package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/internal/spelling"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/workload"
)

// Exit codes. Over many cells invalid outranks unknown. Unknown is not 2: the
// runtime of Go ends a program that crashed or ran out of memory with 2, and a
// CI must not read that as a verdict.
const (
	exitValid       = 0
	exitInvalid     = 1
	exitUnknown     = 3
	exitInterrupted = 130
	exitUsage       = 254
	exitBroken      = 255 // lockcheck itself, or its environment
)

// app is what a verb may touch of the outside world.
type app struct {
	Program
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Program is what differs between one binary with this command line and another.
type Program struct {
	Name string             // how it is called; "": lockcheck
	Own  workload.Catalogue // designs that it brings: what run runs where no --design is given
}

// designs are all that the program knows: its own, then lockcheck's.
func (p Program) designs() workload.Catalogue { return slices.Concat(p.Own, workload.Designs()) }

// check says what is wrong with the designs that the program brings.
func (p Program) check() error {
	for i, d := range p.Own {
		if _, err := d.Resolve(workload.Spec{}); err != nil {
			return fmt.Errorf("design %q: %w", d.Name, err)
		}
		if slices.Contains(p.designs()[i+1:].Names(), d.Name) {
			return fmt.Errorf("two designs are called %q", d.Name)
		}
		for name := range d.Claims {
			if _, ok := nemesis.Find(name); !ok {
				return fmt.Errorf("design %q claims something about %q, which is no nemesis", d.Name, name)
			}
		}
	}
	return nil
}

// called is a text with its commands as this program is called.
func (p Program) called(text string) string {
	if p.Name == "" {
		return text
	}
	return commandOf.ReplaceAllString(text, p.Name+" $1")
}

// commandOf finds commands of lockcheck in a text.
var commandOf = regexp.MustCompile(`\blockcheck (run|search|explore|check|report|serve|bench|list|clean|version|help|VERB)\b`)

// drivers are the kinds of clusters that the program has.
func drivers() []cluster.Driver { return append([]cluster.Driver{sim.Driver}, cluster.Drivers()...) }

// output is standard output. It remembers that something could not be written:
// a result that is lost on a full disk must not look like one that was empty.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// verb is one word of the command line.
type verb struct {
	name    string
	args    string // after the verb, for the usage line
	summary string
	hidden  bool
	run     func(ctx context.Context, a *app, args []string) (code int, err error)
}

// verbs is the table of all verbs, in the order of the help text.
func verbs() []verb {
	return []verb{
		{name: "run", summary: "run designs under faults, and judge what happened", run: runRun},
		{name: "search", summary: "find a violation with many seeds, then shrink it (simulated cluster)", run: runSearch},
		{name: "explore", summary: "play every placement of few faults in a small scene: how many break a design?", run: runExplore},
		{name: "protocol-test", summary: "see whether a lock program of your own keeps the rules of locks", run: runProtocolTest},
		{name: "redis", summary: "serve a simulated Redis on a port, for tests of your own", run: runRedis},
		{name: "check", args: "FILE…", summary: "judge recorded histories: ours, or Jepsen's EDN; - is standard input", run: runCheck},
		{name: "report", args: "RUN", summary: "rebuild the reports of a run from its history; or merge results", run: runReport},
		{name: "serve", summary: "browse the store of runs", run: runServe},
		{name: "bench", summary: "speed of the designs side by side, no faults", run: runBench},
		{name: "list", args: "[NAME]", summary: "designs, nemeses and properties; or one of them in full", run: runList},
		{name: "clean", summary: "remove containers, networks and processes that a killed run left", run: runClean},
		{name: "version", summary: "print the version", run: runVersion},
		{name: "help", args: "[VERB]", summary: "print this, or the flags of a verb", run: runHelp},
		{name: "worker", summary: "one process of workers (started by run)", hidden: true, run: runWorker},
	}
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func hint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// execute runs the program and returns its exit code.
func (p Program) execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{Writer: stdout}
	a := &app{p, stdin, out, stderr}
	if err := p.check(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", cmp.Or(p.Name, "lockcheck"), err)
		return exitBroken
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		args = append([]string{"help"}, args[min(len(args), 1):]...)
	}
	if args[0] == "--version" {
		args = append([]string{"version"}, args[1:]...)
	}
	code, err := a.dispatch(ctx, args[0], args[1:])
	if out.err != nil && err == nil {
		err = fmt.Errorf("the output is not whole: %w", out.err)
	}
	if err == nil {
		return code
	}
	if errors.Is(err, pflag.ErrHelp) {
		return exitValid
	}
	fmt.Fprintf(stderr, "%s: %s\n", cmp.Or(p.Name, "lockcheck"), oneLine(err))
	if h, ok := errors.AsType[hinted](err); ok {
		fmt.Fprintf(stderr, "hint: %s\n", p.called(h.hint))
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, new(usageError)):
		return exitUsage
	}
	return exitBroken
}

func (a *app) dispatch(ctx context.Context, name string, args []string) (int, error) {
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		var names []string
		for _, v := range all {
			names = append(names, v.name)
		}
		return 0, unknownName("verb", name, names)
	}
	return all[i].run(ctx, a, args)
}

// oneLine joins the parts of an error that was joined from several.
func oneLine(err error) string {
	return strings.Join(strings.Split(strings.TrimSpace(err.Error()), "\n"), "; ")
}

// flags makes an empty flag set for a verb; its usage goes to stdout when
// asked for.
func (a *app) flags(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(a.stdout)
	f.Usage = func() {
		for _, v := range verbs() {
			if v.name == name {
				fmt.Fprintf(a.stdout, "%s\n%s\n\n", strings.TrimSpace(fmt.Sprintf("%s %s [flags] %s", cmp.Or(a.Name, "lockcheck"), name, v.args)), v.summary)
			}
		}
		fmt.Fprint(a.stdout, usageOf(f))
		if example := examples[name]; example != "" {
			fmt.Fprintf(a.stdout, "\nExample:\n  %s\n", a.called(example))
		}
	}
	return f
}

// parse parses a verb's arguments. between says how many words may follow
// the flags.
func (a *app) parse(f *pflag.FlagSet, args []string, least, most int) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return guessFlag(f, err)
	}
	if n := f.NArg(); n < least {
		return usagef("%s: a file or name is missing", f.Name())
	} else if n > most {
		return guessArgument(f, f.Arg(most), a.designs().Names())
	}
	return nil
}

// guessFlag names the flag that comes nearest to an unknown one.
func guessFlag(f *pflag.FlagSet, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		f.VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		})
		if best := nearest(unknown.GetSpecifiedName(), names); best != "" {
			return hint(usageError{err}, "did you mean --%s?", best)
		}
	}
	return hint(usageError{err}, "lockcheck help %s lists the flags", f.Name())
}

// guessArgument says what a word that is one too many was probably meant to be:
// the value of a flag.
func guessArgument(f *pflag.FlagSet, word string, designs []string) error {
	err := usagef("%s: %q is one argument too many", f.Name(), word)
	if best := nearest(word, slices.Concat(designs, nemesis.Names())); best != "" && f.Lookup("design") != nil {
		flag := "nemesis"
		if slices.Contains(designs, best) {
			flag = "design"
		}
		return hint(err, "did you mean --%s=%s?", flag, best)
	}
	return hint(err, "lockcheck help %s says what it takes", f.Name())
}

// unknownName says that there is no such thing, and what comes nearest.
func unknownName(kind, name string, known []string) error {
	err := usagef("unknown %s %q", kind, name)
	const few = 6
	longer := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.Contains(k, name) })
	switch best := nearest(name, known); {
	case best != "":
		return hint(err, "did you mean %q?", best)
	case name != "" && len(longer) > 0:
		return hint(err, "did you mean one of %s?", strings.Join(longer[:min(len(longer), few)], ", "))
	case kind == "verb":
		return hint(err, "lockcheck help lists the verbs")
	case len(known) <= few:
		return hint(err, "there is %s", strings.Join(known, ", "))
	}
	return hint(err, "lockcheck list shows what there is")
}

// nearest is the known name that a word was probably meant to be; "" if none
// comes near.
func nearest(name string, known []string) string {
	best, distance := "", min(4, len(name)/2+1)
	for _, k := range known {
		if d := spelling.Distance(name, k); d < distance || d == distance && strings.HasPrefix(k, name) {
			best, distance = k, d
		}
	}
	return best
}

// exitOf is the exit code of a verdict.
func exitOf(o checker.Outcome) int {
	switch o {
	case checker.Valid:
		return exitValid
	case checker.Invalid:
		return exitInvalid
	}
	return exitUnknown
}

// isTerminal reports whether w is one, and a person may want colour.
func isTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func wantsColour(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
