package checker

import (
	"errors"

	"github.com/lockcheck/lockcheck/histories"
)

// frontierStock will decide what the sweep does not.
func frontierStock(ops []*histories.Op, initial int64) (*contradiction, error) {
	return nil, errors.New("sales of several sizes, or units that come back")
}
