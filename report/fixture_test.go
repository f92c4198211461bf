package report

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockcheck/lockcheck/checker"
	"github.com/lockcheck/lockcheck/histories"
)

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

// writer makes a history by hand: operations with increasing ids.
type writer struct {
	h    histories.History
	next int64
}

func newWriter(h histories.Header) *writer {
	h.Format = histories.Format
	return &writer{h: histories.History{Header: h}}
}

// op adds an operation and returns its id.
func (w *writer) op(p histories.Process, f, key string, call, ret int64, outcome histories.Type, set ...func(*histories.Op)) int64 {
	w.next++
	op := histories.Op{ID: w.next, Process: p, F: f, Key: key, Call: call, Return: ret, Outcome: outcome, Qty: 1, CallLine: int(2 * w.next)}
	for _, s := range set {
		s(&op)
	}
	w.h.Ops = append(w.h.Ops, op)
	if ret != histories.Never {
		w.h.End = max(w.h.End, ret)
	}
	return w.next
}

func (w *writer) mark(e histories.Event) int {
	if e.Type == "" {
		e.Type = histories.Info
	}
	w.h.Marks = append(w.h.Marks, e)
	w.h.End = max(w.h.End, e.Time)
	return len(w.h.Marks) - 1
}

func token(t string) func(*histories.Op)   { return func(o *histories.Op) { o.Token = t } }
func left(n int64) func(*histories.Op)     { return func(o *histories.Op) { o.Left = histories.N(n) } }
func value(n int64) func(*histories.Op)    { return func(o *histories.Op) { o.Value = histories.N(n) } }
func order(id string) func(*histories.Op)  { return func(o *histories.Op) { o.Order = id } }
func parent(id int64) func(*histories.Op)  { return func(o *histories.Op) { o.Parent = id } }
func failure(e string) func(*histories.Op) { return func(o *histories.Op) { o.Error = e } }

// failoverRun is a small run in which a failover loses a lock: worker 4 and
// worker 7 both hold stock:sku-2, and one unit is sold twice.
func failoverRun() Run {
	w := newWriter(failoverHeader())
	w.mark(histories.Event{Process: histories.Nemesis, F: histories.Phase, Note: "running"})
	s1 := w.op(1, histories.Sell, "sku-1", 11500*ms, 11530*ms, histories.OK, order("w1-9"), left(4))
	w.op(1, histories.Acquire, "stock:sku-1", 11501*ms, 11502*ms, histories.OK, parent(s1), token("1a2b"))
	w.op(1, histories.Release, "stock:sku-1", 11528*ms, 11529*ms, histories.OK, parent(s1), token("1a2b"))
	cut := w.mark(histories.Event{Time: 11900 * ms, Process: histories.Nemesis, F: histories.Partition, Targets: []string{"redis-2", "redis-3"},
		Fault: &histories.Fault{F: histories.Partition, From: []string{"redis-1"}, To: []string{"redis-2", "redis-3"}}, Proof: "master_link_status:down on redis-2 and redis-3"})
	s4 := w.op(4, histories.Sell, "sku-2", 12095*ms, 14830*ms, histories.OK, order("w4-17"), left(0))
	a4 := w.op(4, histories.Acquire, "stock:sku-2", 12100*ms, 12104*ms, histories.OK, parent(s4), token("host-4:211:9f3c2e01"))
	w.op(4, histories.Read, "sku-2", 12105*ms, 12106*ms, histories.OK, parent(s4), value(1))
	kill := w.mark(histories.Event{Time: 12310 * ms, Process: histories.Nemesis, F: histories.Kill, Targets: []string{"redis-1"},
		Fault: &histories.Fault{F: histories.Kill, Targets: []string{"master"}}, Proof: "redis-1 does not answer PING (timeout)"})
	w.op(2, histories.Sell, "sku-1", 12500*ms, 13500*ms, histories.Info, order("w2-4"), failure("timeout"))
	promoted := w.mark(histories.Event{Time: 12760 * ms, Process: histories.Nemesis, F: histories.Promoted, Targets: []string{"redis-2"}})
	s7 := w.op(7, histories.Sell, "sku-2", 12880*ms, 14990*ms, histories.OK, order("w7-11"), left(0))
	a7 := w.op(7, histories.Acquire, "stock:sku-2", 12890*ms, 12901*ms, histories.OK, parent(s7), token("host-7:300:77aa01bc"))
	w.op(7, histories.Read, "sku-2", 12902*ms, 12903*ms, histories.OK, parent(s7), value(1))
	w4 := w.op(4, histories.Write, "sku-2", 14700*ms, 14702*ms, histories.OK, parent(s4), left(0))
	r4 := w.op(4, histories.Release, "stock:sku-2", 14741*ms, 14743*ms, histories.Fail, parent(s4), token("host-4:211:9f3c2e01"), failure("not the owner"))
	w7 := w.op(7, histories.Write, "sku-2", 14950*ms, 14951*ms, histories.OK, parent(s7), left(0))
	w.op(7, histories.Release, "stock:sku-2", 14980*ms, 14982*ms, histories.OK, parent(s7), token("host-7:300:77aa01bc"))
	w.mark(histories.Event{Time: 16 * sec, Process: histories.Nemesis, F: histories.Start, Targets: []string{"redis-1"}})
	w.mark(histories.Event{Time: 16*sec + 1, Process: histories.Nemesis, F: histories.Heal})
	w.mark(histories.Event{Time: 16500 * ms, Process: histories.Nemesis, F: histories.Demoted, Targets: []string{"redis-1"}})
	w.h.Audits = []histories.Event{
		{Time: 20 * sec, Process: histories.Auditor, Type: histories.OK, F: histories.Audit, Key: "sku-1", Value: histories.N(4), Orders: []histories.Order{{ID: "w1-9", Qty: 1}}},
		{Time: 20 * sec, Process: histories.Auditor, Type: histories.OK, F: histories.Audit, Key: "sku-2", Value: histories.N(0), Orders: []histories.Order{{ID: "w4-17", Qty: 1}, {ID: "w7-11", Qty: 1}}},
	}
	w.h.End = 20 * sec
	faults := []int{cut, kill, promoted}
	return Run{
		Header: w.h.Header, History: &w.h, Verdict: failoverVerdict(a4, a7, r4, w4, w7, s4, s7, faults),
		Folder: "store/20261204T101500.000Z-redis-lock-failover", Started: time.Date(2026, 12, 4, 10, 15, 0, 0, time.UTC), Took: 2100 * time.Millisecond,
		Replay: "lockcheck run --design=redis-lock --nemesis=failover --cluster=sim --seed=8123 --time-limit=20s",
	}
}

func failoverHeader() histories.Header {
	return histories.Header{
		Design: "redis-lock", Nemesis: "failover", Workload: "stock", Cluster: "sim", Source: "simulated Redis", Seed: 8123, Version: "0.1.0",
		Settings: map[string]string{"time-limit": "20s", "concurrency": "10", "stock-on": "lock"},
		Lock:     histories.LockSpec{TTL: 30 * time.Second, Grace: 2 * time.Second}, Initial: 5, Stock: map[string]int64{"sku-2": 1},
	}
}

func failoverVerdict(a4, a7, r4, w4, w7, s4, s7 int64, faults []int) *checker.Verdict {
	return &checker.Verdict{
		Outcome: checker.Invalid, Source: "simulated Redis",
		Levels: map[checker.Level]checker.Outcome{checker.LockLevel: checker.Invalid, checker.UseLevel: checker.Valid, checker.BusinessLevel: checker.Invalid},
		Results: []checker.Result{
			{Property: checker.DoubleHold, Level: checker.LockLevel, Outcome: checker.Invalid, Count: 1, Method: "exact"},
			{Property: checker.StuckLock, Level: checker.LockLevel, Outcome: checker.Unknown, Reason: "the run ended before TTL + grace had passed"},
			{Property: checker.StaleWrite, Level: checker.UseLevel, Outcome: checker.Valid, Method: "exact"},
			{Property: checker.Oversell, Level: checker.BusinessLevel, Outcome: checker.Invalid, Count: 1, Method: "exact"},
		},
		Violations: []checker.Violation{{
			Property: checker.DoubleHold, Level: checker.LockLevel, Key: "stock:sku-2",
			Summary: "worker 4 and worker 7 both held stock:sku-2 for 1.84 s, from 12.9 s to 14.7 s",
			Cause:   checker.LostAtFailover, Because: "the lock was lost at failover (redis-1 killed at 12.3 s, redis-2 promoted at 12.8 s)",
			Workers: []histories.Process{4, 7}, Ops: []int64{a4, a7}, Evidence: []int64{a4, a7, r4}, From: 12901 * ms, To: 14741 * ms, Faults: faults,
		}, {
			Property: checker.Oversell, Level: checker.BusinessLevel, Key: "sku-2", Summary: "sold 2 of 1 units of sku-2",
			Cause: checker.NotAtomic, Because: "both sales read 1 unit left before either wrote",
			Workers: []histories.Process{7, 4}, Ops: []int64{s7, s4}, Evidence: []int64{s4, s7, w4, w7}, From: 12095 * ms, To: 14990 * ms, Faults: faults[1:], Units: 1,
		}},
		Warnings: []checker.Warning{{Word: "lock-busy", Text: "37 % of the acquires found the lock held: add SKUs or lower the concurrency"}},
		Counts: checker.Counts{Ops: 15, Grants: 3, Outcomes: map[string]int{"sell ok": 3, "sell info timeout": 1, "acquire ok": 3, "read ok": 2, "write ok": 2, "release ok": 2, "release fail not the owner": 1},
			Sold: 3, Had: 6, Oversold: 1, Settled: 1},
	}
}

// shop makes a history of so many operations: workers that buy under a lock,
// one at a time per key, with a double hold forged into its middle. It is a
// load for pages, not for the checker.
func shop(operations, workers int, seed uint64) Run {
	s := &shopper{rand: rand.New(rand.NewPCG(seed, 1)), free: map[string]int64{}, stock: map[string]int64{}, batch: map[int]int{}}
	s.writer = newWriter(failoverHeader())
	s.h.Header.Initial, s.h.Header.Stock = 10, nil
	s.h.Header.Lock.TTL = 3 * time.Second
	for i := range workers {
		s.turns = append(s.turns, turn{int64(i) * ms, histories.Process(i)})
	}
	heap.Init(&s.turns)
	for int(s.next) < operations {
		t := heap.Pop(&s.turns).(turn)
		heap.Push(&s.turns, turn{s.buy(t), t.worker})
	}
	return s.finish(operations)
}

type turn struct {
	at     int64
	worker histories.Process
}

type turns []turn

func (t turns) Len() int           { return len(t) }
func (t turns) Less(i, j int) bool { return t[i].at < t[j].at }
func (t turns) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *turns) Push(x any)        { *t = append(*t, x.(turn)) }
func (t *turns) Pop() any          { x := (*t)[len(*t)-1]; *t = (*t)[:len(*t)-1]; return x }

type shopper struct {
	*writer
	rand  *rand.Rand
	turns turns
	free  map[string]int64 // when each lock is free again
	stock map[string]int64
	batch map[int]int
	grant []int64 // ids of granted acquires
}

// buy is one purchase; it returns when the worker is ready for the next.
func (s *shopper) buy(t turn) int64 {
	n := s.rand.IntN(12)
	sku := fmt.Sprintf("sku-%d#%d", n, s.batch[n])
	if _, open := s.stock[sku]; !open {
		s.stock[sku] = 10
	}
	lock, tok := "stock:"+sku, fmt.Sprintf("worker-%d:%d:%016x", t.worker, 200+t.worker, s.rand.Uint64())
	at, d := t.at, func(n int64) int64 { return n*ms/4 + s.rand.Int64N(n*ms) }
	sell := s.op(t.worker, histories.Sell, sku, at, 0, histories.OK, order(fmt.Sprintf("w%d-%d", t.worker, s.next)))
	i := len(s.h.Ops) - 1
	got := at + d(1)
	if s.free[lock] > got {
		s.op(t.worker, histories.Acquire, lock, at+ms/10, got+d(5), histories.Fail, parent(sell), failure("busy"))
		s.h.Ops[i].Outcome, s.h.Ops[i].Error, s.h.Ops[i].Return = histories.Fail, histories.Busy, got+d(6)
		return s.h.Ops[i].Return + d(20)
	}
	s.grant = append(s.grant, s.op(t.worker, histories.Acquire, lock, at+ms/10, got, histories.OK, parent(sell), token(tok)))
	s.op(t.worker, histories.Read, sku, got+ms/10, got+ms/2, histories.OK, parent(sell), value(s.stock[sku]))
	work := d(6)
	if s.rand.IntN(200) == 0 {
		work = sec + s.rand.Int64N(sec)
	}
	s.stock[sku]--
	s.op(t.worker, histories.Write, sku, got+work, got+work+ms/3, histories.OK, parent(sell), left(s.stock[sku]))
	end := got + work + ms
	s.op(t.worker, histories.Release, lock, end, end+ms/2, histories.OK, parent(sell), token(tok))
	s.h.Ops[i].Return, s.h.Ops[i].Left = end+ms, histories.N(s.stock[sku])
	s.free[lock] = end + ms
	if s.stock[sku] == 0 {
		s.batch[n]++
	}
	return end + d(4)
}

// finish sorts the history and forges a violation into its middle.
func (s *shopper) finish(operations int) Run {
	h := &s.h
	slices.SortStableFunc(h.Ops, func(a, b histories.Op) int { return cmp.Compare(a.Call, b.Call) })
	var a, b *histories.Op
	for i := len(h.Ops) / 2; i < len(h.Ops) && b == nil; i++ {
		op := &h.Ops[i]
		if op.F != histories.Acquire || op.Outcome != histories.OK {
			continue
		}
		if a == nil {
			a = op
		} else if op.Process != a.Process {
			b = op
			b.Key = a.Key
		}
	}
	at := a.Call
	kill := s.mark(histories.Event{Time: at - 700*ms, Process: histories.Nemesis, F: histories.Kill, Targets: []string{"redis-1"}, Fault: &histories.Fault{F: histories.Kill, Targets: []string{"master"}}, Proof: "no answer"})
	s.mark(histories.Event{Time: at - 90*ms, Process: histories.Nemesis, F: histories.Promoted, Targets: []string{"redis-2"}})
	s.mark(histories.Event{Time: at + 2*sec, Process: histories.Nemesis, F: histories.Start, Targets: []string{"redis-1"}})
	v := failoverVerdict(a.ID, b.ID, 0, 0, 0, 0, 0, []int{kill, kill + 1})
	v.Violations = v.Violations[:1]
	v.Violations[0].Workers = []histories.Process{a.Process, b.Process}
	v.Violations[0].Key, v.Violations[0].From, v.Violations[0].To = a.Key, b.Return, b.Return+20*ms
	v.Violations[0].Summary = fmt.Sprintf("worker %d and worker %d both held %s for 20 ms", a.Process, b.Process, a.Key)
	v.Counts.Ops = operations
	return Run{Header: h.Header, History: h, Verdict: v, Replay: "lockcheck run --seed=8123"}
}
