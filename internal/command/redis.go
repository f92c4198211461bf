package command

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockcheck/lockcheck/cluster/sim"
	"github.com/lockcheck/lockcheck/cluster/sim/standalone"
	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/nemesis"
	"github.com/lockcheck/lockcheck/workload/env"
)

// redisFlags are the flags of redis.
type redisFlags struct {
	listen    string
	sentinel  bool
	master    string
	nemesis   string
	schedule  string
	seed      uint64
	ttl       time.Duration
	interval  time.Duration
	timeLimit time.Duration
	downAfter time.Duration
}

// runRedis serves a simulated Redis until it is interrupted.
func runRedis(ctx context.Context, a *app, args []string) (int, error) {
	var r redisFlags
	f := a.flags("redis")
	f.StringVar(&r.listen, "listen", "127.0.0.1:6379", "address; port 0: any that is free. Anyone who reaches it can use it")
	f.BoolVar(&r.sentinel, "sentinel", false, "a master with two replicas on this port and the next two, and three Sentinels that watch it, on ports that are higher by 20000")
	f.StringVar(&r.master, "master-name", "mymaster", "what the Sentinels call the master")
	f.StringVar(&r.nemesis, "nemesis", "", "faults from a nemesis, as it would hurt a run (lockcheck list); what is written to standard error as it happens. A grant that it waits for is a SET NX or a SETNX")
	f.StringVar(&r.schedule, "schedule", "", "faults from a file, such as schedule.json of a run")
	f.Uint64Var(&r.seed, "seed", 1, "seed of the faults and of the simulated network; clients are outside of it")
	f.DurationVar(&r.ttl, "ttl", 5*time.Second, "lease of the locks, by which a nemesis measures its faults")
	f.DurationVar(&r.interval, "interval", nemesis.DefaultInterval, "time between two faults")
	f.DurationVar(&r.timeLimit, "time-limit", time.Hour, "duration of the faults; then they are healed, and the servers go on")
	f.DurationVar(&r.downAfter, "down-after", 0, "silence after which Sentinel takes a master for down (default 800ms; 3s under restart)")
	if err := a.parse(f, args, 0, 0); err != nil {
		return 0, err
	}
	if err := r.check(); err != nil {
		return 0, err
	}
	if !r.sentinel && r.nemesis == "" && r.schedule == "" {
		return serveAlone(ctx, a, r.listen)
	}
	return exitValid, r.serveLive(ctx, a)
}

func (r *redisFlags) check() error {
	host, port, err := net.SplitHostPort(r.listen)
	number, bad := strconv.Atoi(port)
	switch {
	case err != nil:
		return usagef("--listen=%s: want host:port", r.listen)
	case r.sentinel && (net.ParseIP(host) == nil || bad != nil):
		return usagef("--listen=%s: with --sentinel want the number of an address and a port, which clients are told", r.listen)
	case r.sentinel && number > mostPort-sentinelsAbove-2:
		return usagef("--listen=%s: with --sentinel want a port up to %d", r.listen, mostPort-sentinelsAbove-2)
	case r.nemesis != "" && r.schedule != "":
		return usagef("--schedule and --nemesis contradict each other: the schedule says what happens")
	case r.ttl <= 0 || r.interval <= 0 || r.timeLimit <= 0 || r.downAfter < 0:
		return usagef("--ttl, --interval, --time-limit and --down-after must be above 0")
	case r.timeLimit/r.interval > mostFaults:
		return usagef("--interval=%v: at most %d faults in a --time-limit of %v", r.interval, mostFaults, r.timeLimit)
	}
	return nil
}

// serveAlone serves one server, which has commands for tests.
func serveAlone(ctx context.Context, a *app, address string) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	server := standalone.New()
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	fmt.Fprintf(a.stderr, "a simulated Redis listens on %s (Ctrl-C ends); it keeps nothing\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return 0, err
	}
	return exitValid, nil
}

// Ports of the servers.
const (
	mostPort        = 65535
	sentinelsAbove  = 20000
	sentinelsPrefix = "sentinel-"
)

// live is simulated servers, each on a port, and what hurts them.
type live struct {
	*sim.Live
	a     *app
	watch nemesis.Watch
	at    map[string]net.Listener // by server
}

// serveLive serves several servers, or one that is hurt.
func (r *redisFlags) serveLive(ctx context.Context, a *app) error {
	schedule, err := r.plan()
	if err != nil {
		return err
	}
	l := &live{a: a, at: map[string]net.Listener{}}
	top := env.Single
	if r.sentinel {
		top = env.Sentinel
	}
	downAfter := r.downAfter
	if downAfter == 0 {
		downAfter = nemesis.DownAfter(schedule.Nemesis)
	}
	l.Live, err = sim.NewLive(sim.LiveConfig{Topology: top, Seed: r.seed, DownAfter: downAfter, MasterName: r.master, Emit: l.heard})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := l.listen(ctx, r.listen); err != nil {
		return err
	}
	var serving sync.WaitGroup
	for server, listener := range l.at {
		serving.Go(func() { l.accept(server, listener) })
	}
	err = l.Run(ctx, func(ctx context.Context) error {
		err := nemesis.Run(ctx, l, schedule, &l.watch, r.timeLimit)
		if len(schedule.Episodes) > 0 && ctx.Err() == nil {
			err = errors.Join(err, l.Cluster().Heal(ctx))
			fmt.Fprintf(a.stderr, "%9.3fs  the faults are over and healed; the servers go on\n", l.Now().Seconds())
		}
		if err != nil {
			fmt.Fprintf(a.stderr, "faults that could not be injected: %v\n", err)
		}
		for ctx.Err() == nil {
			_ = l.Sleep(ctx, time.Hour)
		}
		return nil
	})
	cancel()
	serving.Wait()
	return err
}

// plan is the schedule of faults.
func (r *redisFlags) plan() (nemesis.Schedule, error) {
	p := nemesis.Params{
		TimeLimit: r.timeLimit, Interval: r.interval, TTL: r.ttl, Workers: 2, Servers: 1,
		Nodes: []string{"redis-1"}, Rand: rand.New(rand.NewPCG(r.seed, redisStream)),
	}
	if r.sentinel {
		p.Servers, p.Replicas, p.Sentinels = 3, true, true
		p.Nodes = []string{"redis-1", "redis-2", "redis-3", "sentinel-1", "sentinel-2", "sentinel-3"}
	}
	if r.schedule == "" {
		if r.nemesis == "" {
			return nemesis.Schedule{Nemesis: nemesis.None}, nil
		}
		s, err := nemesis.Plan(r.nemesis, p)
		s.Episodes = slices.DeleteFunc(s.Episodes, hitsPrograms)
		switch {
		case errors.Is(err, nemesis.ErrUnknown):
			return s, unknownName("nemesis", r.nemesis, nemesis.Names())
		case err != nil:
			return s, usagef("--nemesis=%s: %w", r.nemesis, err)
		case len(s.Episodes) == 0 && r.nemesis != nemesis.None:
			return s, usagef("--nemesis=%s: none of its faults hits servers or links in %v", r.nemesis, r.timeLimit)
		}
		return s, nil
	}
	file, err := os.Open(r.schedule)
	if err != nil {
		return nemesis.Schedule{}, usagef("--schedule: %w", err)
	}
	defer file.Close()
	s, err := nemesis.ReadSchedule(file)
	if err == nil {
		err = errors.Join(s.Check(p), s.Fits(r.timeLimit))
	}
	if err != nil {
		return s, usagef("--schedule=%s: %w", r.schedule, err)
	}
	if i := slices.IndexFunc(s.Episodes, hitsPrograms); i >= 0 {
		return s, usagef("--schedule=%s: episode %d hits workers' processes, which are not here", r.schedule, i+1)
	}
	return s, nil
}

// redisStream keeps the random numbers of the plan apart from the network's.
const redisStream = 0x7265646973

// hitsPrograms reports whether an episode hits the processes of workers, rather
// than servers and links: the clients are processes that nobody here started.
func hitsPrograms(e nemesis.Episode) bool {
	return slices.ContainsFunc(e.Steps, func(s nemesis.Step) bool {
		f := s.Fault
		switch f.F {
		case histories.Partition, histories.Heal:
			return false
		case histories.Loss:
			return f.Step != ""
		case histories.Kill:
			return f.Mode != histories.ModeConnection && slices.ContainsFunc(f.Targets, histories.IsWorker)
		}
		return f.Step != "" || slices.ContainsFunc(f.Targets, histories.IsWorker)
	})
}

// listen opens a port for each server and says which.
func (l *live) listen(ctx context.Context, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	first, err := net.LookupPort("tcp", port)
	if err != nil {
		return err
	}
	above := map[bool]int{}
	for _, server := range l.Cluster().Nodes() {
		isSentinel := strings.HasPrefix(server, sentinelsPrefix)
		own := 0
		if first > 0 {
			own = first + above[isSentinel]
			if isSentinel {
				own += sentinelsAbove
			}
		}
		above[isSentinel]++
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(own)))
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		l.at[server] = listener
		fmt.Fprintf(l.a.stderr, "%-10s  listens on %s\n", server, listener.Addr())
	}
	fmt.Fprintln(l.a.stderr, "simulated servers, in real time (Ctrl-C ends); they keep nothing")
	return nil
}

// accept takes clients of a server until its port is closed.
func (l *live) accept(server string, listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() { _ = l.Serve(server, conn, l.address) }()
	}
}

// address is where a server listens.
func (l *live) address(server string) (ip, port string) {
	ip, port, _ = net.SplitHostPort(l.at[server].Addr().String())
	return ip, port
}

var _ nemesis.World = (*live)(nil)

// Now implements nemesis.World.
func (l *live) Now() time.Duration { return l.Cluster().Now() }

// Sleep implements nemesis.World.
func (l *live) Sleep(ctx context.Context, d time.Duration) error { return l.Cluster().Sleep(ctx, d) }

// Await implements nemesis.World.
func (l *live) Await(ctx context.Context, limit time.Duration, ready func() bool) bool {
	return l.Cluster().Await(ctx, limit, ready)
}

// Inject implements nemesis.World.
func (l *live) Inject(ctx context.Context, f histories.Fault) (nemesis.Effect, error) {
	effect, err := l.Cluster().Inject(ctx, f)
	return nemesis.Effect(effect), err
}

// Record implements nemesis.World: it tells of a fault.
func (l *live) Record(e histories.Event) { l.heard(e) }

// heard tells of what happens to the servers, and lets the nemesis watch.
func (l *live) heard(e histories.Event) {
	l.watch.See(e)
	if e.Process != histories.Nemesis || e.Time < 0 {
		return
	}
	text := e.F
	if len(e.Targets) > 0 {
		text += " " + strings.Join(e.Targets, ", ")
	}
	for _, more := range []string{e.Proof, e.Error} {
		if more != "" {
			text += ": " + more
		}
	}
	fmt.Fprintf(l.a.stderr, "%9.3fs  %s\n", time.Duration(e.Time).Seconds(), text)
}
