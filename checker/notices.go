package checker

import "github.com/lockcheck/lockcheck/histories"

// noticeIndex has the times at which workers were told that a lock is gone, in
// order, by what the notice is about. A worker that is told of many keys is
// asked about one at a time.
type noticeIndex map[notice][]int64

type notice struct {
	worker     histories.Process
	key, token string // "" if the notice names none
	any        bool   // of any token: for grants that have none
}

func (x noticeIndex) add(m *histories.Event) {
	for _, about := range []notice{{m.Process, m.Key, m.Token, false}, {m.Process, m.Key, "", true}} {
		x[about] = append(x[about], m.Time)
	}
}

// first is the first notice from a moment on to a worker that is about a grant:
// one that names another key or token is about something else. Never if there is none.
func (x noticeIndex) first(worker histories.Process, key, token string, from int64) int64 {
	at := int64(histories.Never)
	if len(x) == 0 {
		return at
	}
	for _, k := range []string{"", key} {
		if token == "" {
			at = min(at, firstFrom(x[notice{worker, k, "", true}], from))
			continue
		}
		at = min(at, firstFrom(x[notice{worker, k, "", false}], from), firstFrom(x[notice{worker, k, token, false}], from))
	}
	return at
}
