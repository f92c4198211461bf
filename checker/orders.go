package checker

import (
	"hash/maphash"

	"github.com/lockcheck/lockcheck/histories"
)

// orderIndex finds orders by id: a hash table of places in books.orders, made
// once with room for all. A million orders cost half of what a map takes.
type orderIndex struct {
	slots []int32 // place + 1
	seed  maphash.Seed
}

// makeRoom prepares for as many orders as there can be.
func (b *books) makeRoom(k *keyed) {
	n := 0
	for _, op := range k.stock {
		if (op.F == histories.Sell || op.F == histories.Cancel) && op.Outcome != histories.Fail {
			n++
		}
	}
	b.orders = make([]order, 0, n)
	if k.audit != nil {
		n += len(k.audit.Orders)
	}
	size := 8
	for size < 2*n {
		size *= 2
	}
	b.byID = orderIndex{slots: make([]int32, size), seed: maphash.MakeSeed()}
}

// at is the slot of an id: its own, or the free one where it belongs.
func (b *books) at(id string) (slot int, tag uint32) {
	hash := maphash.String(b.byID.seed, id)
	mask := len(b.byID.slots) - 1
	tag = uint32(hash >> 32)
	for slot = int(hash) & mask; b.byID.slots[slot] != 0; slot = (slot + 1) & mask {
		if o := &b.orders[b.byID.slots[slot]-1]; o.tag == tag && o.id == id {
			break
		}
	}
	return slot, tag
}

// order finds an order by id, or begins it.
func (b *books) order(id string) *order {
	slot, tag := b.at(id)
	if b.byID.slots[slot] == 0 {
		b.orders = append(b.orders, order{id: id, tag: tag, first: -1, kept: -1})
		b.byID.slots[slot] = int32(len(b.orders))
	}
	return &b.orders[b.byID.slots[slot]-1]
}

// find finds an order by id, nil if there is none.
func (b *books) find(id string) *order {
	slot, _ := b.at(id)
	if b.byID.slots[slot] == 0 {
		return nil
	}
	return &b.orders[b.byID.slots[slot]-1]
}
