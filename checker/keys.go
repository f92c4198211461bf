package checker

import (
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/histories"
)

// class says which of a key's lists an operation belongs to.
func class(f string) int {
	switch f {
	case histories.Acquire, histories.Extend, histories.Release:
		return 0
	case histories.Sell, histories.Read, histories.Restock, histories.Cancel:
		return 1
	case histories.Write:
		return 2
	case histories.Break:
		return 3
	}
	return -1
}

// keyNumbers gives keys numbers, in the order in which they come.
type keyNumbers struct {
	numbers map[string]int32
	keys    []*keyed
	counts  [][4]int32 // of operations, by class
	last    string     // mostly asked for again
	number  int32
}

func (x *keyNumbers) of(name string) int32 {
	if len(x.keys) > 0 && name == x.last {
		return x.number
	}
	i, ok := x.numbers[name]
	if !ok {
		i = int32(len(x.keys))
		x.numbers[name] = i
		x.keys = append(x.keys, &keyed{name: name})
		x.counts = append(x.counts, [4]int32{})
	}
	x.last, x.number = name, i
	return i
}

// groupByKey sorts operations into keys in two passes: count, then fill.
func groupByKey(h *histories.History) []*keyed {
	x := keyNumbers{numbers: map[string]int32{}}
	of := make([]int32, len(h.Ops))
	for i := range h.Ops {
		of[i] = -1
		if c := class(h.Ops[i].F); c >= 0 && h.Ops[i].Process >= 0 {
			of[i] = x.of(h.Ops[i].Key)
			x.counts[of[i]][c]++
		}
	}
	for i := range h.Audits {
		x.keys[x.of(h.Audits[i].Key)].audit = &h.Audits[i]
	}
	for i, k := range x.keys {
		k.locks = make([]*histories.Op, 0, x.counts[i][0])
		k.stock = make([]*histories.Op, 0, x.counts[i][1])
		k.writes = make([]*histories.Op, 0, x.counts[i][2])
		k.breaks = make([]*histories.Op, 0, x.counts[i][3])
	}
	for i := range h.Ops {
		if of[i] >= 0 {
			x.keys[of[i]].put(&h.Ops[i])
		}
	}
	slices.SortFunc(x.keys, func(a, b *keyed) int { return strings.Compare(a.name, b.name) })
	return x.keys
}

func (k *keyed) put(op *histories.Op) {
	switch class(op.F) {
	case 0:
		k.locks = append(k.locks, op)
	case 1:
		k.stock = append(k.stock, op)
	case 2:
		k.writes = append(k.writes, op)
	case 3:
		k.breaks = append(k.breaks, op)
	}
}

// placeIndex finds an operation by its id: a slice where ids are dense, as
// the recorder makes them, else a map.
type placeIndex struct {
	dense  []int32 // place + 1
	sparse map[int64]int32
}

func indexOps(ops []histories.Op) placeIndex {
	var highest int64
	for i := range ops {
		highest = max(highest, ops[i].ID)
	}
	var x placeIndex
	if highest <= 4*int64(len(ops))+1024 {
		x.dense = make([]int32, highest+1)
	} else {
		x.sparse = make(map[int64]int32, len(ops))
	}
	for i := range ops {
		if id := ops[i].ID; x.dense != nil && id >= 0 {
			x.dense[id] = int32(i) + 1
		} else if x.sparse != nil {
			x.sparse[id] = int32(i) + 1
		}
	}
	return x
}

// at is the place of id in History.Ops, -1 if there is none.
func (x placeIndex) at(id int64) int {
	if x.dense != nil {
		if id > 0 && id < int64(len(x.dense)) {
			return int(x.dense[id]) - 1
		}
		return -1
	}
	return int(x.sparse[id]) - 1
}

// op finds an operation by id, nil if there is none.
func (r *run) op(id int64) *histories.Op {
	if i := r.place.at(id); id > 0 && i >= 0 {
		return &r.h.Ops[i]
	}
	return nil
}

// keyOf finds a key by name, nil if there is none.
func (r *run) keyOf(name string) *keyed {
	i, ok := slices.BinarySearchFunc(r.keys, name, func(k *keyed, name string) int { return strings.Compare(k.name, name) })
	if !ok {
		return nil
	}
	return r.keys[i]
}
