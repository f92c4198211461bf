package workload

import (
	"sync/atomic"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/workload/env"
)

// recorder numbers a worker's operations and hands its events to the
// harness. A worker's first operation is worker + 1, the next ones follow in
// steps of the number of workers, so that no two workers use one number; a
// worker that was killed and started again goes on far beyond.
type recorder struct {
	wire    env.Wire
	process histories.Process
	next    atomic.Int64
	step    int64
}

// lifetime is how many operations one life of a worker has room for.
const lifetime = 1 << 32

func newRecorder(e *env.Env, w env.Wire, workers int) *recorder {
	r := &recorder{wire: w, process: histories.Process(e.Worker), step: int64(workers)}
	r.next.Store(int64(e.Life)*lifetime*r.step + int64(e.Worker) + 1)
	return r
}

// begin is stock.Till's Begin.
func (r *recorder) begin(e histories.Event) (op int64, end func(histories.Event)) {
	op = r.next.Add(r.step) - r.step
	e.Type, e.Op = histories.Invoke, op
	f := e.F
	r.note(e)
	return op, func(done histories.Event) {
		done.F, done.Op = f, op
		r.note(done)
	}
}

// note is stock.Till's Note.
func (r *recorder) note(e histories.Event) {
	e.Process = r.process
	r.wire.Emit(e)
}

// count is how many numbers have been used before: it never repeats.
func (r *recorder) count() int64 { return r.next.Load() / r.step }
