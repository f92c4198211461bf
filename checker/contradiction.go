package checker

// contradiction is the smallest set of operations that an exact check found
// to fit no order at all.
type contradiction struct {
	Ops      []int64 // ids, in the order that makes it plain
	From, To int64   // ns: what it spans
	Why      string  // one sentence
	vanished bool    // of a stock: units went that nobody is known to have taken
}
