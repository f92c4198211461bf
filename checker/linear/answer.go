package linear

// Answer says whether some legal order fits the operations.
type Answer uint8

const (
	Unknown Answer = iota // not found out within the bounds
	Legal
	Illegal
)

// MostCulprits bounds the operations that are named as evidence.
const MostCulprits = 20

// String is the answer in a word.
func (a Answer) String() string { return [...]string{"unknown", "legal", "illegal"}[a] }
