package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockcheck/lockcheck/internal/conform"
)

// runProtocolTest plays the conformance scenes with a program that speaks the
// protocol.
func runProtocolTest(ctx context.Context, a *app, args []string) (int, error) {
	f := a.flags("protocol-test")
	exec := f.String("exec", "", "the program, with its arguments: 'php lock.php'; quotes as in a shell")
	cfg := conform.Config{}
	f.StringVar(&cfg.Redis, "redis", "", "host:port of a Redis to play on (default: a simulated one); the keys of the scenes begin with lc:")
	f.DurationVar(&cfg.TTL, "ttl", 2*time.Second, "lease that the program is told to ask for; scenes last for some of them")
	f.IntVar(&cfg.Parallel, "parallel", 4, "scenes at once, of up to four programs each")
	f.DurationVar(&cfg.Limits.Ready, "ready", 8*time.Second, "how long the program may take until it is ready")
	lines := f.Bool("lines", false, "show the lines of rules that are kept, too")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	command, err := splitCommand(*exec)
	switch {
	case err != nil:
		return 0, hint(usagef("--exec=%s: %w", *exec, err), "lockcheck protocol-test --exec='php lock.php'; docs/protocol.md says what it must speak")
	case cfg.TTL < 100*time.Millisecond || cfg.TTL > time.Minute:
		return 0, usagef("--ttl=%v: want 100ms to 1m", cfg.TTL)
	case cfg.Parallel < 1:
		return 0, usagef("--parallel=%d: want 1 or more", cfg.Parallel)
	}
	cfg.Command = command
	s, err := conform.Look(ctx, cfg)
	if err != nil {
		return 0, hint(err, "docs/protocol.md has every message and every finding; --ready gives a program longer to start")
	}
	where := "a simulated Redis"
	if cfg.Redis != "" {
		where = "the Redis at " + cfg.Redis
	}
	fmt.Fprintf(a.stdout, "%s%s, on %s, ttl %v\n\n", s.Ready.Name, abilities(s.Ready.Can), where, s.TTL)
	broken, err := s.Test(ctx, func(r conform.Result) { a.showRule(r, *lines) })
	if err != nil {
		return 0, err
	}
	if broken > 0 {
		fmt.Fprintf(a.stdout, "\n%d rules, %d broken\n", len(s.Rules()), broken)
		return exitInvalid, nil
	}
	fmt.Fprintf(a.stdout, "\n%d rules, all kept. That is without faults that come at random: lockcheck run has those.\n", len(s.Rules()))
	return exitValid, nil
}

func abilities(can []string) string {
	if len(can) == 0 {
		return ""
	}
	return " (can " + strings.Join(can, ", ") + ")"
}

// showRule shows how one scene went.
func (a *app) showRule(r conform.Result, lines bool) {
	word := "kept  "
	if r.Err != nil {
		word = "BROKEN"
	}
	fmt.Fprintf(a.stdout, "%s  %s\n", word, r.Rule)
	if r.Err != nil {
		for _, line := range strings.Split(strings.TrimSpace(r.Err.Error()), "\n") {
			fmt.Fprintf(a.stdout, "          %s\n", line)
		}
	}
	if r.Err == nil && !lines {
		return
	}
	for _, l := range r.Lines {
		fmt.Fprintf(a.stdout, "          %7.3f s  worker %d %s\n", l.At.Seconds(), l.Worker, l.Line)
	}
}
