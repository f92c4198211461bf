package checker

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/histories/corpus"
)

// Whatever a history says, it gets a verdict: no panic, no endless search.
func TestAnyHistoryGetsAVerdict(t *testing.T) {
	for seed := range uint64(20 * *worlds) {
		h := junk(rand.New(rand.NewPCG(seed, 11)))
		v := Check(context.Background(), h, Options{Budget: 1 << 14, RecheckTime: 10 * time.Millisecond})
		if v.Outcome != Valid && v.Outcome != Unknown && v.Outcome != Invalid || len(v.Results) != len(Properties) {
			t.Fatalf("history %d: outcome %q, %d results", seed, v.Outcome, len(v.Results))
		}
		if (v.Outcome == Unknown) != (v.Reason != "") {
			t.Fatalf("history %d is %s because of %q", seed, v.Outcome, v.Reason)
		}
	}
}

// junk is a history in which anything may be anywhere.
func junk(r *rand.Rand) *histories.History {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	number := func() int64 {
		switch r.IntN(8) {
		case 0:
			return math.MaxInt64 - r.Int64N(3)
		case 1:
			return math.MinInt64 + r.Int64N(3)
		}
		return r.Int64N(40)
	}
	num := func() histories.Num { return histories.Num{N: number(), Known: r.IntN(2) == 0} }
	h := &histories.History{Header: histories.Header{
		Initial: number(), MaxDelay: time.Duration(number()), Nemesis: pick("", "none", "failover+crash"),
		Lock:     histories.LockSpec{None: r.IntN(9) == 0, TTL: time.Duration(number()), Grace: time.Duration(number()), Reentrant: r.IntN(3) == 0},
		Settings: map[string]string{"per-host": pick("1", "3", "-1", "9999999999", "")},
	}}
	now := int64(0)
	for id := range 1 + r.Int64N(20) {
		now += r.Int64N(3)
		op := histories.Op{
			ID: id + 1, Parent: r.Int64N(20), Process: histories.Process(r.IntN(4)), Key: pick("a", "b"), Call: now, Return: now + r.Int64N(9), CallLine: int(id),
			F:   pick("acquire", "acquire", "release", "extend", "sell", "sell", "read", "write", "restock", "cancel", "nonsense"),
			Qty: max(number(), 1), Outcome: histories.Type(pick("ok", "ok", "fail", "info")), Order: pick("", "x", "y"), Token: pick("", "p", "q#1", "#2"),
			Error: pick("", "busy", "busy: others", "sold-out", "not the owner"), Fence: num(), Until: num(), Left: num(), Seen: num(), Value: num(),
			Replay: r.IntN(9) == 0, Final: r.IntN(9) == 0,
		}
		if op.Outcome == histories.Info && r.IntN(2) == 0 {
			op.Return = histories.Never
		}
		h.Ops = append(h.Ops, op)
	}
	for at := int64(0); at < now; at += 1 + r.Int64N(8) {
		m := histories.Event{Time: at, Process: histories.Nemesis, F: pick("kill", "start", "pause", "resume", "partition", "heal", "skew", "evict", "crash", "failover", "promoted", "demoted", "healthy", "phase", "lost", "loss", "delay", "nonsense"), Note: pick("", "final")}
		if r.IntN(2) == 0 {
			m.Targets = []string{pick("redis-1", "sql-1", "worker-1", "worker-x", "worker--1", "half-workers", "")}
		}
		if r.IntN(2) == 0 {
			m.Fault = &histories.Fault{F: m.F, Step: pick("", "renewal", "commit"), Mode: pick("", "connection"), Offset: time.Duration(number()), From: []string{pick("worker-1", "master")}}
		}
		if m.F == histories.Lost {
			m.Process = histories.Process(r.IntN(4))
		}
		h.Marks = append(h.Marks, m)
	}
	for range r.IntN(3) {
		h.Audits = append(h.Audits, histories.Event{Time: now, Process: histories.Auditor, F: histories.Audit, Key: pick("a", "b"), Value: num(), Orders: []histories.Order{{ID: pick("x", "y", ""), Qty: number()}}})
	}
	h.End = now + 9
	return h
}

// A million busy answers, kills and open operations take time in proportion.
func TestNoHistoryTakesForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second or two")
	}
	const n = 100_000
	for name, make := range map[string]func(i int64) histories.Op{
		"acquires that never end": func(i int64) histories.Op {
			return histories.Op{F: "acquire", Process: histories.Process(i), Outcome: "info", Return: histories.Never}
		},
		"grants that never end": func(i int64) histories.Op {
			return histories.Op{F: "acquire", Process: histories.Process(i), Outcome: "ok", Return: i, Token: fmt.Sprint(i)}
		},
		"grants of one worker": func(i int64) histories.Op {
			return histories.Op{F: "acquire", Outcome: "ok", Return: i, Token: fmt.Sprint(i)}
		},
		"busy answers": func(i int64) histories.Op {
			return histories.Op{F: "acquire", Process: histories.Process(i % 50), Outcome: "fail", Error: "busy", Return: i + 1000}
		},
		"releases of nothing": func(i int64) histories.Op {
			return histories.Op{F: "release", Process: histories.Process(i % 50), Outcome: "ok", Return: i + 1}
		},
		"sells that never end": func(i int64) histories.Op {
			return histories.Op{F: "sell", Process: histories.Process(i), Outcome: "info", Return: histories.Never, Order: fmt.Sprint(i)}
		},
		"one order again and again": func(i int64) histories.Op { return histories.Op{F: "sell", Outcome: "ok", Return: i, Order: "x"} },
		"stale writes":              func(i int64) histories.Op { return histories.Op{F: "write", Outcome: "info", Return: i, Parent: 1} },
		"keys of their own": func(i int64) histories.Op {
			return histories.Op{F: "acquire", Outcome: "fail", Error: "busy", Return: i, Key: fmt.Sprint(i)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &histories.History{Header: histories.Header{Lock: histories.LockSpec{TTL: 10, Grace: 10}, Initial: 10}, End: n}
			for i := range int64(n) {
				op := make(i)
				op.ID, op.Call, op.CallLine, op.Qty = i+1, i, int(i), 1
				h.Ops = append(h.Ops, op)
				if i%10 == 0 {
					h.Marks = append(h.Marks, histories.Event{Time: i, Process: histories.Nemesis, F: "kill", Targets: []string{"redis-1", "worker-7"}})
				}
			}
			Check(context.Background(), h, Options{Budget: 1 << 14})
		})
	}
}

func FuzzCheck(f *testing.F) {
	names, err := corpus.All()
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(corpus.Files, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := histories.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return
		}
		hang := time.AfterFunc(20*time.Second, func() { panic("the check does not come to an end") })
		defer hang.Stop()
		Check(context.Background(), h, Options{Budget: 1 << 14, RecheckTime: 10 * time.Millisecond})
	})
}
