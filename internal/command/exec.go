package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/cluster/sim/preload"
	"github.com/lockcheck/lockcheck/protocol"
	"github.com/lockcheck/lockcheck/protocol/child"
	"github.com/lockcheck/lockcheck/workload"
	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/own"
)

// execFlags name a program under test, which speaks the protocol.
type execFlags struct {
	command  string
	name     string
	topology string
	time     string
	claims   string
	beside   string
}

// ofExec are the flags that concern such a program alone.
var ofExec = []string{"exec", "name", "topology", "time", "claims", "beside"}

func (f *execFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.command, "exec", "", "your own program as the design: 'php lock.php' (docs/protocol.md); --design beside it adds others")
	s.StringVar(&f.name, "name", "", "name of the --exec program in tables and reports (default: its file's)")
	s.StringVar(&f.claims, "claims", "", "file of what the --exec program claims, for --expect=claims (docs/protocol.md)")
	s.StringVar(&f.beside, "beside", "", "designs to show beside the --exec program: redis-lock,redlock")
	s.StringVar(&f.time, "time", "", "sim: virtual, or real: the --exec program runs by the machine's clock, which any program can, and no seed brings a run back (default: virtual if there is a C compiler)")
	s.StringVar(&f.topology, "topology", string(env.Sentinel), "servers of the --exec program: "+either(topologies()))
}

// The words for --time.
const (
	virtualTime = "virtual"
	realTime    = "real"
)

// pace turns the driver to the machine's time if that is asked for.
func (f *runFlags) pace() error {
	switch {
	case f.exec.time == "" || f.exec.time == virtualTime && f.driver.Virtual:
	case f.exec.time != virtualTime && f.exec.time != realTime:
		return unknownName("time", f.exec.time, []string{virtualTime, realTime})
	case !f.driver.Virtual:
		return usagef("--time=%s is for the simulated cluster", f.exec.time)
	case f.exec.command == "":
		return usagef("--time=real needs --exec: the designs of lockcheck run in virtual time")
	default:
		f.driver = sim.RealTime
	}
	return nil
}

// topologies are the words for --topology.
func topologies() (words []string) {
	for _, k := range env.Kinds() {
		words = append(words, string(k))
	}
	return words
}

// either lists words of which one is to be chosen: "a, b or c".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// subject is the design of --exec. The program is started once, to say what it
// can.
func (f *runFlags) subject(ctx context.Context) (workload.Design, error) {
	switch {
	case !slices.Contains(topologies(), f.exec.topology):
		return workload.Design{}, unknownName("topology", f.exec.topology, topologies())
	case f.spec.Leases != "":
		return workload.Design{}, usagef("--ttl=%s: all copies of --exec ask for the same lease", f.spec.Leases)
	}
	words, err := splitCommand(f.exec.command)
	if err != nil {
		return workload.Design{}, usagef("--exec=%s: %w", f.exec.command, err)
	}
	name := f.exec.name
	if name == "" {
		name = programName(words)
	}
	if _, taken := f.app.designs().Find(name); taken {
		return workload.Design{}, hint(usagef("--exec: there is a design %s already", name), "--name calls yours something else")
	}
	top := env.Topology{Lock: env.Kind(f.exec.topology)}
	claims, err := f.claimed()
	if err != nil {
		return workload.Design{}, err
	}
	ready, err := f.introduce(ctx, words, top)
	if err != nil {
		return workload.Design{}, err
	}
	d := own.Design(name, words, top, ready)
	d.Claims = claims
	return d, nil
}

// claimed are the claims of the program, nil if it makes none.
func (f *runFlags) claimed() (map[string]workload.Claim, error) {
	switch {
	case f.exec.claims != "":
		return readClaims(f.exec.claims)
	case f.expect == "claims":
		return nil, hint(usagef("--expect=claims: the --exec program claims nothing"), "--claims=FILE says what it claims (docs/protocol.md)")
	}
	return nil, nil
}

// introduce asks the program what it can.
func (f *runFlags) introduce(ctx context.Context, words []string, top env.Topology) (protocol.Ready, error) {
	ttl, wait := f.spec.TTL, f.spec.Wait
	if ttl == 0 {
		ttl = 5 * time.Second
	}
	if wait == 0 {
		wait = 2 * time.Second
	}
	hello := protocol.Hello{TTL: ttl.Milliseconds(), Wait: wait.Milliseconds()}
	if !f.driver.Virtual {
		return introduceForReal(ctx, words, top, hello)
	}
	ready, err := sim.Introduce(ctx, words, top, hello)
	switch {
	case errors.Is(err, preload.ErrCannotHold):
		err = hint(usagef("--exec=%s: %w", f.exec.command, err), "run it in real time: --time=real; --cluster=docker takes any program too; a lock in Go is also tested by its own go test (lockcheck.Test)")
	case errors.Is(err, preload.ErrNoCompiler) && f.exec.time == "" && f.set.Name() == "run":
		if err := f.set.Set("time", realTime); err != nil {
			return ready, err
		}
		f.driver = sim.RealTime
		f.warnings = append(f.warnings, "no C compiler: the program runs in real time, and no seed brings a run back; apt-get install gcc libc6-dev, once, changes that")
		return introduceForReal(ctx, words, top, hello)
	case errors.Is(err, preload.ErrNoCompiler):
		err = hint(usagef("--exec=%s: %w", f.exec.command, err), "install one, once: apt-get install gcc libc6-dev; or run it in real time: --time=real")
	case err != nil:
		err = usagef("--exec=%s: %w", f.exec.command, err)
		if !f.set.Changed("topology") {
			err = hint(err, "its hello had sentinels and master, and no redis, which --topology=single has")
		}
	}
	return ready, err
}

// introduceForReal asks a program in real time. Nobody answers at the addresses
// that it is given.
func introduceForReal(ctx context.Context, words []string, top env.Topology, h protocol.Hello) (protocol.Ready, error) {
	const nobody = "127.0.0.1:1"
	switch top.Lock {
	case env.Sentinel:
		h.Sentinels, h.Master = []string{nobody, nobody, nobody}, "mymaster"
	case env.RedisCluster:
		h.Cluster = []string{nobody}
	default:
		h.Redis = []string{nobody}
	}
	c, err := child.Start(child.Config{Command: words, Hello: h})
	if err != nil {
		return protocol.Ready{}, err
	}
	r, err := c.Await(ctx)
	return r, errors.Join(err, c.End())
}

// programName is what a command is called: by its first argument that is a
// file, or else by the program.
func programName(words []string) string {
	for _, w := range words[1:] {
		if info, err := os.Stat(w); err == nil && !info.IsDir() {
			return filepath.Base(w)
		}
	}
	return filepath.Base(words[0])
}

// splitCommand cuts a command into words, as a shell does with quotes and
// backslashes. Whatever else a shell does, sh -c '…' does.
func splitCommand(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	open, escaped := false, false
	for _, c := range command {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		case strings.ContainsRune("|&;<>()$`", c):
			return nil, fmt.Errorf("%q is for a shell: sh -c '…' takes it", c)
		default:
			word.WriteRune(c)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quote %c is open", quote)
	case escaped:
		return nil, errors.New("nothing follows the last backslash")
	case len(words) == 0:
		return nil, errors.New("it names no program")
	}
	return words, nil
}
