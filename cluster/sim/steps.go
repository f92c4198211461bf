package sim

import "context"

// step is the default of Env.Step.
func (w *worker) step(ctx context.Context, name string) error { return nil }
