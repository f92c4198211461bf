package inject

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// View is what a cluster tells of itself, by names, at this moment. An error
// says that nobody could be asked.
type View interface {
	// Nodes are all servers.
	Nodes() []string
	// Masters are the servers of the lock service that take writes, in the eyes of
	// those who decide it; of independent servers the first stands for all.
	Masters(ctx context.Context) ([]string, error)
	// Replicas follow a master.
	Replicas(ctx context.Context) ([]string, error)
	// Locks are the Redis servers of the lock service.
	Locks() []string
	Sentinels() []string
	// ServerOf is the master that has a key.
	ServerOf(ctx context.Context, key string) (string, error)
	// Processes are the workers of each worker process, in order.
	Processes() [][]int
}

// Target is a server, or a process with the workers that share it.
type Target struct {
	Name    string // of the server, or of the process: that of its first worker
	Workers []int  // of the process; nil: a server
	Meant   []int  // of these, those that the fault named
}

// Names are the server's, or those of all workers of the process.
func (t Target) Names() []string {
	if t.Workers == nil {
		if t.Name == "" {
			return nil
		}
		return []string{t.Name}
	}
	return workerNames(t.Workers)
}

// Process is the target that some workers share.
func Process(workers []int) Target {
	return Target{Name: histories.WorkerName(workers[0]), Workers: workers, Meant: workers}
}

// Targets are whom a fault hits, each once.
type Targets []Target

// Names are the names of all, for the history.
func (ts Targets) Names() (names []string) {
	for _, t := range ts {
		names = append(names, t.Names()...)
	}
	return names
}

// Servers are those that are no processes of workers.
func (ts Targets) Servers() Targets {
	return slices.DeleteFunc(slices.Clone(ts), func(t Target) bool { return t.Workers != nil })
}

// workers are those that the fault named, each by itself.
func (ts Targets) workers() (numbers []int) {
	for _, t := range ts {
		numbers = append(numbers, t.Meant...)
	}
	return numbers
}

func (ts Targets) meant() []string { return workerNames(ts.workers()) }

func workerNames(numbers []int) (names []string) {
	for _, n := range numbers {
		names = append(names, histories.WorkerName(n))
	}
	return names
}

// add puts t in, once: of a process more of its workers may be meant.
func (ts *Targets) add(t Target) {
	i := slices.IndexFunc(*ts, func(o Target) bool { return o.Name == t.Name })
	if i < 0 {
		*ts = append(*ts, t)
		return
	}
	have := &(*ts)[i]
	for _, n := range t.Meant {
		if !slices.Contains(have.Meant, n) {
			have.Meant = append(slices.Clone(have.Meant), n)
		}
	}
}

// resolve finds what names and roles stand for now. A name that means nobody is
// refused.
func (i *Injector) resolve(ctx context.Context, names []string) (all Targets, err error) {
	for _, name := range names {
		found, err := i.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%w: no %s in this topology", cluster.ErrUnavailable, name)
		}
		for _, t := range found {
			all.add(t)
		}
	}
	return all, nil
}

// find finds what one name stands for. Whoever is found as a master is the old
// master from then on.
func (i *Injector) find(ctx context.Context, name string) (Targets, error) {
	v := i.Backend
	if key, ok := histories.RoleKey(name); ok {
		server, err := v.ServerOf(ctx, key)
		if err != nil || server == "" {
			return nil, err
		}
		i.oldMaster = server
		return servers(server), nil
	}
	role := histories.RoleOf(name)
	switch role.Of {
	case histories.OfMasters:
		masters, err := v.Masters(ctx)
		if len(masters) > 0 {
			i.oldMaster = masters[len(masters)-1]
		}
		return servers(masters...), err
	case histories.OfOldMaster:
		if i.oldMaster == "" {
			return nil, nil
		}
		return servers(i.oldMaster), nil
	case histories.OfReplicas:
		replicas, err := v.Replicas(ctx)
		return servers(share(role, replicas)...), err
	case histories.OfLocks:
		return servers(v.Locks()...), nil
	case histories.OfSentinels:
		return servers(share(role, v.Sentinels())...), nil
	case histories.OfWorkers:
		return processes(share(role, v.Processes())...), nil
	}
	return i.named(name), nil
}

// named finds a server or a worker by its name. "stock", "sql" and "queue" are the
// first server of that kind.
func (i *Injector) named(name string) Targets {
	if w, ok := histories.WorkerNumber(name); ok {
		for _, p := range i.Backend.Processes() {
			if slices.Contains(p, w) {
				return Targets{{Name: histories.WorkerName(p[0]), Workers: p, Meant: []int{w}}}
			}
		}
	}
	for _, node := range i.Backend.Nodes() {
		if node == name || node == name+"-1" {
			return servers(node)
		}
	}
	return nil
}

func servers(names ...string) (ts Targets) {
	for _, name := range names {
		ts = append(ts, Target{Name: name})
	}
	return ts
}

func processes(list ...[]int) (ts Targets) {
	for _, workers := range list {
		ts = append(ts, Process(workers))
	}
	return ts
}

// share is what a role means of all who have it: the first (of workers the first
// half, of an odd number the larger), or the rest.
func share[T any](role histories.Role, all []T) []T {
	n := min(1, len(all))
	if role.Of == histories.OfWorkers {
		n = (len(all) + 1) / 2
	}
	switch role.Share {
	case histories.ShareFirst:
		return all[:n]
	case histories.ShareRest:
		return all[n:]
	}
	return all
}

func (i *Injector) everybodyBut(some Targets) (others Targets) {
	all := append(servers(i.Backend.Nodes()...), processes(i.Backend.Processes()...)...)
	return slices.DeleteFunc(all, func(t Target) bool {
		return slices.ContainsFunc(some, func(o Target) bool { return o.Name == t.Name })
	})
}
