package cluster

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/lockcheck/lockcheck/workload/env"
)

// Traits are what a provider can do.
type Traits struct {
	Name string // the word for --cluster, and in the headers of histories
	// Virtual: its time is virtual. A run takes no longer than its computing, and
	// one seed decides it to the byte, so that many runs cost little.
	Virtual bool
	// Parallel: it lends any number of clusters at once.
	Parallel bool
}

// Driver makes providers of one kind, and says what they can do before there is
// one.
type Driver struct {
	Traits
	Summary string // a few words, for the help of --cluster
	New     func(ctx context.Context, c Config) (Provider, error)
	Images  bool // Config.Image counts

	// Clean removes what a killed run left behind and names it; nil: nothing is
	// ever left.
	Clean func(ctx context.Context) (removed []string, err error)
	// Work is one process of workers that run program: its spec on in, events on
	// out. nil: workers are no processes.
	Work func(ctx context.Context, in io.Reader, out io.Writer, program env.Worker) error
}

// Config is what the user says of the cluster.
type Config struct {
	Image string       // the base of the servers' image; "": the driver's
	Tell  func(string) // hears what takes minutes before it begins; nil: nobody is told
}

var (
	driversMu sync.Mutex
	drivers   []Driver
)

// Register adds a driver to those of the program. Package servers does so when
// it is imported.
func Register(d Driver) {
	driversMu.Lock()
	defer driversMu.Unlock()
	if slices.ContainsFunc(drivers, func(o Driver) bool { return o.Name == d.Name }) {
		panic("cluster: two drivers are called " + d.Name)
	}
	drivers = append(drivers, d)
}

// Drivers are the drivers that were registered.
func Drivers() []Driver {
	driversMu.Lock()
	defer driversMu.Unlock()
	return slices.Clone(drivers)
}
