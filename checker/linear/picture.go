package linear

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockcheck/lockcheck/histories"
)

// Limits of a picture: a browser can show it, and it is drawn at once.
const (
	maxPictured = 200
	pictureTime = 2 * time.Second
)

// Picture draws the operations of one key that touch [from, to] (ns) as a
// self-contained HTML page of porcupine's. Of a window with many operations
// it draws those nearest to from. It is an illustration: what began before
// the window is known only as far as the operations in it tell.
func Picture(h *histories.History, key string, from, to int64) (page []byte, err error) {
	s, err := pictured(h, key, from, to)
	if err != nil {
		return nil, err
	}
	defer func() { // porcupine draws; a page less is no reason to lose a verdict
		if r := recover(); r != nil {
			page, err = nil, fmt.Errorf("picture of %s: %v", key, r)
		}
	}()
	_, info := porcupine.CheckOperationsVerbose(s.model, s.ops, pictureTime)
	var out bytes.Buffer
	if err := porcupine.Visualize(s.model, info, &out); err != nil {
		return nil, fmt.Errorf("picture of %s: %w", key, err)
	}
	return out.Bytes(), nil
}

// pictured is the search that the picture shows: of the lock if the key is
// one, else of the stock.
func pictured(h *histories.History, key string, from, to int64) (*search, error) {
	var locks, sales []*histories.Op
	for i := range h.Ops {
		switch op := &h.Ops[i]; {
		case op.Key != key || op.Process < 0:
		case op.F == histories.Acquire || op.F == histories.Release:
			locks = append(locks, op)
		case SaysSomething(op):
			sales = append(sales, op)
		}
	}
	switch {
	case len(locks) > 0:
		return lockSearch(lockWindow(locks, from, to), h.Header.Lock, nil), nil
	case len(sales) > 0:
		begin := stockLevel{left: h.Header.StockOf(key)}
		window := nearest(sales, from, to)
		begin.open = len(window) > 0 && window[0] != sales[0]
		return stockSearch(window, begin), nil
	}
	return nil, errors.New("no operations on " + key)
}

// lockWindow takes whole grants: an acquire with its releases, if any part of
// it touches the window.
func lockWindow(ops []*histories.Op, from, to int64) []*histories.Op {
	g := groupLock(ops)
	var out []*histories.Op
	for i := range g.groups {
		all := g.groups[i].inOrder()
		if first, last := all[0], all[len(all)-1]; len(all) <= 2 && first.Call <= to && (last.Return >= from || last.F == histories.Acquire) {
			out = append(out, all...)
			continue
		}
		out = append(out, touching(all, from, to)...)
	}
	slices.SortFunc(out, byCall)
	return nearest(out, 0, histories.Never)
}

func byCall(a, b *histories.Op) int {
	return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.CallLine, b.CallLine))
}

func touching(ops []*histories.Op, from, to int64) []*histories.Op {
	var out []*histories.Op
	for _, op := range ops {
		if op.Call <= to && op.Return >= from && (op.Outcome != histories.Info || op.Call >= from) {
			out = append(out, op)
		}
	}
	return out
}

// nearest is what touches the window, the first maxPictured of it.
func nearest(ops []*histories.Op, from, to int64) []*histories.Op {
	all := touching(ops, from, to)
	return all[:min(len(all), maxPictured)]
}
