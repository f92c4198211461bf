package checker

import (
	"errors"

	"github.com/lockcheck/lockcheck/histories"
)

// stock decides whether the sells, reads, restocks and cancels of one stock
// key fit some legal order that starts with initial units. ops are sorted by
// Call; other operations are passed over. covered is nil if the answer is
// exact, else it says why this history is beyond the exact check; then c is
// nil and says nothing.
func stock(ops []*histories.Op, initial int64) (c *contradiction, covered error) {
	return nil, errors.New("not decided exactly")
}
