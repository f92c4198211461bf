package workload

import (
	"fmt"
	"strconv"
)

// StockKey is the stock key of one batch of a SKU: "sku-2#7".
func StockKey(sku, batch int) string {
	return "sku-" + strconv.Itoa(sku) + "#" + strconv.Itoa(batch)
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
