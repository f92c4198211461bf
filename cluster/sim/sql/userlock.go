package sql

import (
	"slices"
	"time"
)

// userLock is a lock of GET_LOCK: it belongs to a connection, whatever
// becomes of its transactions.
type userLock struct {
	name   string
	holder *Session
	count  int        // how often the holder has it
	queue  []*Session // sessions that wait, first come first served
}

// getLock takes a user lock, or waits for it as long as the statement says.
func getLock(sc *scope, _ *expr, args []any) (any, error) {
	work := &sc.s.pending.work
	switch {
	case work.timedOut:
		return int64(0), nil
	case work.named:
		return int64(1), nil
	}
	name, limit, err := lockArguments(args)
	if err != nil || name == "" {
		return nil, err
	}
	u := sc.s.db.names[name]
	switch {
	case u == nil:
		sc.s.db.names[name] = &userLock{name: name, holder: sc.s, count: 1}
		return int64(1), nil
	case u.holder == sc.s:
		u.count++
		return int64(1), nil
	case limit == 0:
		return int64(0), nil
	}
	if st := sc.s.pending.stmt; st.gets > 1 || st.table != "" {
		return nil, notModelled("waiting for a user lock in a statement that does more")
	}
	sc.s.named = u
	if sc.s.inCircle() {
		sc.s.named = nil
		return nil, errDeadlock
	}
	u.queue = append(u.queue, sc.s)
	return nil, &Blocked{Limit: limit, Holder: u.holder.id, On: "the user lock " + name}
}

// lockArguments reads the name and the limit. An empty name means that the
// answer is NULL.
func lockArguments(args []any) (name string, limit time.Duration, err error) {
	if args[0] == nil || args[1] == nil {
		return "", 0, nil
	}
	var seconds float64
	switch n := args[1].(type) {
	case int64:
		seconds = float64(n)
	case float64:
		seconds = n
	default:
		return "", 0, notModelled("GET_LOCK with a limit of %v", n)
	}
	if seconds < 0 {
		return "", 0, nil
	}
	const longest = 365 * 24 * time.Hour
	limit = min(longest, time.Duration(min(seconds, longest.Seconds())*float64(time.Second)))
	return textOf(args[0]), limit, nil
}

// inCircle reports whether everybody in a circle of sessions waits for the
// next one's user lock.
func (s *Session) inCircle() bool {
	for next := s.named.holder; next.named != nil; next = next.named.holder {
		if next.named.holder == s {
			return true
		}
	}
	return s.named.holder == s
}

// giveUp ends the wait for a user lock.
func (s *Session) giveUp() {
	u := s.named
	s.named = nil
	u.queue = slices.DeleteFunc(u.queue, func(o *Session) bool { return o == s })
}

// free lets the next one have the lock.
func (u *userLock) free(db *DB) {
	if len(u.queue) == 0 {
		delete(db.names, u.name)
		return
	}
	next := u.queue[0]
	u.queue = u.queue[1:]
	u.holder, u.count = next, 1
	next.named = nil
	next.pending.work.named = true
	next.wake()
}

// releaseLock answers 1 if it released, 0 if another has the lock, NULL if
// nobody has.
func releaseLock(sc *scope, _ *expr, args []any) (any, error) {
	u := sc.s.db.names[textOf(args[0])]
	switch {
	case args[0] == nil || u == nil:
		return nil, nil
	case u.holder != sc.s:
		return int64(0), nil
	}
	if u.count--; u.count == 0 {
		u.free(sc.s.db)
	}
	return int64(1), nil
}

func releaseAllLocks(sc *scope, _ *expr, _ []any) (any, error) { return sc.s.freeAll(), nil }

// freeAll releases every user lock of the session, in the order of names.
func (s *Session) freeAll() (n int64) {
	var names []string
	for name, u := range s.db.names {
		if u.holder == s {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		u := s.db.names[name]
		n += int64(u.count)
		u.free(s.db)
	}
	return n
}

func isUsedLock(sc *scope, _ *expr, args []any) (any, error) {
	if u := sc.s.db.names[textOf(args[0])]; u != nil && args[0] != nil {
		return u.holder.id, nil
	}
	return nil, nil
}

func isFreeLock(sc *scope, _ *expr, args []any) (any, error) {
	if args[0] == nil {
		return nil, nil
	}
	return truth(sc.s.db.names[textOf(args[0])] == nil), nil
}
