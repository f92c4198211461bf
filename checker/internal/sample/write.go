package sample

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/lockcheck/lockcheck/histories"
)

// Write writes a header and operations as the recorder would.
func Write(to io.Writer, header histories.Header, ops []histories.Op) error {
	w := bufio.NewWriterSize(to, 1<<20)
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	w.Write(append(head, '\n'))
	for _, e := range eventsOf(ops) {
		line, err := e.Line()
		if err != nil {
			return err
		}
		w.Write(append(line, '\n'))
	}
	return w.Flush()
}

// eventsOf takes operations apart again, in order of time.
func eventsOf(ops []histories.Op) []histories.Event {
	events := make([]histories.Event, 0, 2*len(ops))
	for i := range ops {
		op := &ops[i]
		call := histories.Event{Time: op.Call, Process: op.Process, Type: histories.Invoke, F: op.F, Op: op.ID, Key: op.Key, Order: op.Order}
		ret := histories.Event{
			Time: op.Return, Process: op.Process, Type: op.Outcome, F: op.F, Op: op.ID, Token: op.Token,
			Left: op.Left, Value: op.Value, Error: op.Error,
		}
		if op.F == histories.Release {
			call.Token = op.Token
		}
		if op.F == histories.Sell {
			call.Qty = op.Qty
		}
		events = append(events, call, ret)
	}
	slices.SortStableFunc(events, func(a, b histories.Event) int { return cmp.Compare(a.Time, b.Time) })
	return events
}
