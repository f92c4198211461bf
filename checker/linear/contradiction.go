package linear

// Contradiction is the smallest set of operations that an exact check found
// to fit no order at all.
type Contradiction struct {
	Ops      []int64 // ids, in the order that makes it plain
	From, To int64   // ns: what it spans
	Why      string  // one sentence
	Vanished bool    // of a stock: units went that nobody is known to have taken
}
