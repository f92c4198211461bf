package workload

import (
	"fmt"
	"slices"
	"strconv"
)

// StockKey is the stock key of one batch of a SKU: "sku-2#7".
func StockKey(sku, batch int) string {
	return "sku-" + strconv.Itoa(sku) + "#" + strconv.Itoa(batch)
}

// StockKeys are all stock keys of a run.
func (s Resolved) StockKeys() []string {
	var keys []string
	for sku := range s.SKUs {
		for batch := range s.Batches {
			keys = append(keys, StockKey(sku, batch))
		}
	}
	return keys
}

// categories is how many categories the SKUs fall into.
const categories = 3

// lockKey is the lock key for a purchase, by the grain of the lock.
func (s Spec) lockKey(sku, batch int, customer string) string {
	switch s.LockKey {
	case GrainCategory:
		return fmt.Sprintf("category:category-%d", sku%categories)
	case GrainUserSKU:
		return fmt.Sprintf("order:%s:sku-%d", customer, sku)
	case GrainSegment:
		return fmt.Sprintf("stock:sku-%d:segment-%d", sku, batch%s.Segments)
	}
	return fmt.Sprintf("stock:sku-%d", sku)
}

// LockKeys are all lock keys of a run.
func (s Resolved) LockKeys() []string {
	var keys []string
	for sku := range s.SKUs {
		for batch := range s.segments() {
			for customer := range max(s.Customers, s.Workers) {
				keys = append(keys, s.lockKey(sku, batch, customerName(customer)))
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func customerName(n int) string { return "c" + strconv.Itoa(n) }
