package histories

import "math/bits"

// fields is a set of fields of an event.
type fields uint32

// The fields of an event, in the order in which Event has them.
const (
	timeField fields = 1 << iota
	processField
	typeField
	fField
	opField
	parentField
	keyField
	qtyField
	orderField
	customerField
	workField
	tokenField
	fenceField
	untilField
	leftField
	seenField
	valueField
	replayField
	finalField
	modeField
	ttlField
	errorField
	ordersField
	targetsField
	faultField
	proofField
	noteField
)

// fieldNames are the names of the bits of a set.
var fieldNames = [...]string{
	"time", "process", "type", "f", "op", "parent", "key", "qty", "order", "customer", "work", "token", "fence", "until", "left", "seen",
	"value", "replay", "final", "mode", "ttl", "error", "orders", "targets", "fault", "proof", "note",
}

// byName finds the bit of a name. A map of all would take twice the time of
// the switch that the decoder had before.
var byName = func() map[string]fields {
	m := map[string]fields{}
	for i, name := range fieldNames {
		m[name] = 1 << i
	}
	return m
}()

// fieldNamed is the bit of a field, 0 if there is no such field.
func fieldNamed(name string) fields { return byName[name] }

// first is the name of the first field of a set that is not empty.
func (s fields) first() string { return fieldNames[bits.TrailingZeros32(uint32(s))] }

// names are the names of a set.
func (s fields) names() []string {
	var list []string
	for ; s != 0; s &= s - 1 {
		list = append(list, s.first())
	}
	return list
}

// What every event has, and what any may have besides.
const (
	needed   = timeField | processField | typeField | fField
	everyone = needed | noteField
)

// forms are the fields that the two ends of an operation may have besides
// those of every event. An answer may repeat what was asked.
var forms = func() map[string]form {
	const step, stock = opField | parentField | keyField | finalField, qtyField | orderField | customerField
	m := map[string]form{
		Acquire: {asks: step | tokenField | modeField | ttlField, told: fenceField | untilField},
		Extend:  {asks: step | tokenField | ttlField, told: untilField | fenceField},
		Release: {asks: step | tokenField},
		Break:   {asks: step | tokenField},
		Sell:    {asks: step | stock | workField, told: leftField | seenField | replayField},
		Read:    {asks: step, told: valueField},
		Write:   {asks: step | stock | valueField | fenceField, told: leftField},
		Restock: {asks: step | stock, told: leftField},
		Cancel:  {asks: step | stock, told: leftField | replayField},
	}
	for f, form := range m {
		form.told |= form.asks | errorField
		m[f] = form
	}
	return m
}()

// form says what the two ends of an operation may carry.
type form struct{ asks, told fields }

// What the events that are no operations may carry.
const (
	lostFields  = parentField | keyField | tokenField
	auditFields = keyField | valueField | ordersField
	markFields  = targetsField | faultField | proofField | errorField
)
