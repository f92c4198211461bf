package histories

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/internal/spelling"
)

// Bounds of what a history may say. Sums and axes stay exact within them.
const (
	// MaxTime is the last moment of a run, in ns: 104 days. A clock's date
	// is far beyond.
	MaxTime = 1 << 53
	// MaxUnits bounds every number of units, up and down.
	MaxUnits = 1 << 53
)

// zeroOp stands for an op or parent that says 0, which is a number like any
// other but means "none" in an Event. The pairer gives it a number of its own.
const zeroOp = -1

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrEvent, fmt.Sprintf(format, args...))
}

// shape reports what no event that was read may be, alone; how events fit
// together is asked by the pairer. seen are the fields that the line had.
func (e *Event) shape(seen fields) error {
	if missing := needed &^ seen; missing != 0 {
		return wrong("no %s", missing.first())
	}
	if err := e.check(); err != nil {
		return err
	}
	if err := e.numbers(seen); err != nil {
		return err
	}
	switch {
	case e.Process == Nemesis:
		return e.mark(seen)
	case e.Process == Auditor || e.F == Audit:
		return e.auditRow(seen)
	case e.F == Lost:
		return e.lostNotice(seen)
	}
	return e.step(seen)
}

// step is the shape of one end of an operation of a worker.
func (e *Event) step(seen fields) error {
	form, known := forms[e.F]
	if !known {
		return e.unknownF()
	}
	if seen&opField == 0 {
		return wrong("%s of %s without op", e.Type, e.F)
	}
	may := form.told
	if e.Type == Invoke {
		may = form.asks
	}
	if err := e.only(seen, everyone|may); err != nil {
		return err
	}
	switch {
	case e.Type == Invoke && e.Key == "":
		return wrong("%s without key", e.F)
	case e.F == Read && e.Type == OK && !e.Value.Known:
		return wrong("a read that is ok without value")
	case e.Mode != "" && e.Mode != ReadMode && e.Mode != WriteMode:
		return wrong("mode is %.40q: want %s or %s", e.Mode, ReadMode, WriteMode)
	case e.TTL < 0 || seen&ttlField != 0 && e.TTL == 0:
		return wrong("ttl is %d: want ns above 0, or no ttl where the lock's own counts", e.TTL)
	}
	return e.reason()
}

func (e *Event) lostNotice(seen fields) error {
	if e.Type != Info {
		return wrong("%s of lost: want info", e.Type)
	}
	if seen&opField != 0 {
		return wrong("lost is no operation: it has no op")
	}
	return e.only(seen, everyone|lostFields)
}

func (e *Event) auditRow(seen fields) error {
	switch {
	case e.F != Audit:
		return wrong("%s by process \"audit\": it only audits", e.F)
	case e.Process != Auditor:
		return wrong("audit by worker %s: want process \"audit\"", e.Process)
	case e.Type != OK:
		return wrong("%s of audit: want ok", e.Type)
	case e.Key == "":
		return wrong("audit without key")
	}
	for i, o := range e.Orders {
		if o.Qty < 0 || o.Qty > MaxUnits {
			return wrong("orders[%d]: qty %d is out of bounds", i, o.Qty)
		}
	}
	return e.only(seen, everyone|auditFields)
}

func (e *Event) mark(seen fields) error {
	switch {
	case forms[e.F] != form{} || e.F == Audit || e.F == Lost:
		return wrong("%s by process \"nemesis\": it only injects and sees faults", e.F)
	case !slices.Contains(marks, e.F):
		return e.unknownF()
	case e.Type != Info:
		return wrong("%s of %s: events of the nemesis are info", e.Type, e.F)
	}
	return e.only(seen, everyone|markFields)
}

// only reports a field that has no place in the event.
func (e *Event) only(seen, may fields) error {
	extra := seen &^ may
	if extra == 0 {
		return nil
	}
	name := extra.first()
	err := wrong("%s of %s has no field %q", e.Type, e.F, name)
	if near := spelling.Nearest(name, (may &^ seen).names()); near != "" {
		err = wrong("%s of %s has no field %q: did you mean %q?", e.Type, e.F, name, near)
	}
	return err
}

func (e *Event) unknownF() error {
	known := marks
	if e.Process >= 0 {
		known = functions[:]
	}
	if near := spelling.Nearest(e.F, known); near != "" {
		return wrong("unknown f %.20q: did you mean %q?", e.F, near)
	}
	return wrong("unknown f %.20q", e.F)
}

// numbers reports what is out of bounds, and marks an op of 0.
func (e *Event) numbers(seen fields) error {
	for _, n := range [...]struct {
		name     string
		n        int64
		low, top int64
	}{
		{"op", e.Op, 0, 1<<63 - 1}, {"parent", e.Parent, 0, 1<<63 - 1}, {"qty", e.Qty, 0, MaxUnits}, {"work", e.Work, 0, MaxTime},
		{"until", e.Until.N, -MaxTime, 1<<63 - 1}, {"left", e.Left.N, -MaxUnits, MaxUnits}, {"seen", e.Seen.N, -MaxUnits, MaxUnits},
		{"value", e.Value.N, -MaxUnits, MaxUnits},
	} {
		if n.n < n.low || n.n > n.top {
			return wrong("%s %d is out of bounds: want %d to %d", n.name, n.n, n.low, n.top)
		}
	}
	if seen&opField != 0 && e.Op == 0 {
		e.Op = zeroOp
	}
	if seen&parentField != 0 && e.Parent == 0 {
		e.Parent = zeroOp
	}
	return nil
}

// reason reports an error that is none of the format's words where the word
// decides something.
func (e *Event) reason() error {
	switch {
	case e.Error == "" || e.Type == Info:
		return nil
	case e.Type == OK:
		return wrong("ok of %s with an error: %.60q", e.F, e.Error)
	}
	words := reasons[e.F]
	if slices.ContainsFunc(words, func(w string) bool { return begins(e.Error, w) }) {
		return nil
	}
	near := nearReason(e.Error, words)
	lock := e.F == Acquire || e.F == Extend || e.F == Release || e.F == Break
	switch {
	case near != "":
		return wrong("error %.60q: did you mean %q?", e.Error, near)
	case lock && !nothingDone(e.Error):
		return wrong("unknown error %.60q of a failed %s: want %q, or %q and why", e.Error, e.F, words[0], Refused+":")
	}
	return nil
}

// reasons are the words that a failed operation may give as its error and that
// decide something, the one that is meant most first. Why may follow the word.
var reasons = map[string][]string{
	Acquire: {Busy, NotOwner}, Extend: {NotOwner, Busy}, Release: {NotOwner, Busy}, Break: {NotOwner, Busy}, Sell: {SoldOut, Busy},
}

// begins reports whether an error is the word, alone or followed by why.
func begins(text, word string) bool {
	rest, found := strings.CutPrefix(text, word)
	return found && (rest == "" || strings.IndexByte(":;, (", rest[0]) >= 0)
}

// foreign are the reasons of other tools, by ours.
var foreign = map[string]string{
	"notowner": NotOwner, "notlockowner": NotOwner, "notheld": NotOwner, "notlocked": NotOwner, "lockednotowned": NotOwner, "notmine": NotOwner,
	"lockexpired": NotOwner, "expired": NotOwner, "lost": NotOwner, "notowned": NotOwner, "wrongtoken": NotOwner, "locknotheld": NotOwner,
	"locked": Busy, "held": Busy, "taken": Busy, "notacquired": Busy, "lockbusy": Busy, "notobtained": Busy, "alreadylocked": Busy,
	"soldout": SoldOut, "outofstock": SoldOut, "insufficientstock": SoldOut, "insufficient": SoldOut, "nostock": SoldOut,
}

// nearReason is the word that was probably meant, "" if none is near.
func nearReason(text string, words []string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(text[:min(len(text), 32)]))
	if near := foreign[plain]; slices.Contains(words, near) {
		return near
	}
	return spelling.Nearest(plain, words)
}

// nothingDone reports whether an error of a lock operation is a reason that
// says nothing about the lock: refused, not connected, or the reply of a server,
// which begins with a code ("READONLY …", "1205 …"), behind names perhaps.
func nothingDone(text string) bool {
	if begins(text, Refused) || strings.Contains(text, "connection refused") || strings.Contains(text, "nothing sold") {
		return true
	}
	for part := range strings.SplitSeq(text, ": ") {
		code, _, _ := strings.Cut(part, " ")
		if len(code) >= 3 && strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
			return true
		}
	}
	return false
}
