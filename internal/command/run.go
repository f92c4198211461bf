package command

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/lockcheck/lockcheck/cluster"
	"github.com/lockcheck/lockcheck/histories"
)

// runRun runs every cell that the flags name and judges each.
func runRun(ctx context.Context, a *app, args []string) (int, error) {
	f := newRunFlags(a, "run")
	if err := a.parse(f.set, args, 0, 0); err != nil {
		return 0, err
	}
	cells, err := f.cells(ctx)
	if err != nil {
		return 0, err
	}
	started := time.Now()
	all, err := f.runTable(ctx, cells, nil)
	if all == nil {
		return exitBroken, err
	}
	code, concluded := a.conclude(ctx, f, all, started)
	return code, errors.Join(concluded, err)
}

// begin makes sure that runs can be kept, and tells the seed.
func (f *runFlags) begin() error {
	if err := histories.MakeStore(f.store); err != nil {
		return err
	}
	f.chooseSeed()
	fmt.Fprintf(f.app.stderr, "seed %d\n", f.seed)
	for _, w := range f.warnings {
		fmt.Fprintf(f.app.stderr, "warning: %s\n", w)
	}
	return nil
}

func (f *runFlags) chooseSeed() {
	if f.set.Changed("seed") {
		return
	}
	var b [4]byte
	// 32 bits: short enough to type. crypto/rand never fails.
	_, _ = rand.Read(b[:])
	f.seed = uint64(binary.LittleEndian.Uint32(b[:]))
}

// provider makes the cluster that the flags ask for.
func (f *runFlags) provider(ctx context.Context, tell func(string)) (cluster.Provider, error) {
	if f.driver.Virtual {
		collectLess()
	}
	return f.driver.New(ctx, cluster.Config{Image: f.image, Tell: tell})
}

// collectLess gives the garbage collector less to do: simulated runs are short
// and leave much behind; a third of their time goes into collecting it. The
// user's own GOGC counts.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
