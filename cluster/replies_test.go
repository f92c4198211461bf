package cluster

import (
	"testing"

	"github.com/lockcheck/lockcheck/histories"
)

func TestTellsSQL(t *testing.T) {
	one, zero := [][]any{{int64(1)}}, [][]any{{int64(0)}}
	for _, c := range []struct {
		f, statement string
		rows         [][]any
		want         bool
	}{
		{histories.Write, "COMMIT", nil, true},
		{histories.Acquire, "COMMIT", nil, true},
		{histories.Write, "UPDATE stock SET stock = ? WHERE k = ?", nil, false}, // undone if its worker gives up
		{histories.Acquire, "SELECT GET_LOCK(?, 0)", one, true},
		{histories.Acquire, "SELECT GET_LOCK(?, 0)", zero, false},
		{histories.Release, "SELECT GET_LOCK(?, 0)", one, false},
		{histories.Release, "SELECT RELEASE_LOCK(?)", one, true},
		{histories.Release, "SELECT RELEASE_LOCK(?)", zero, false},
		{histories.Acquire, "SELECT RELEASE_LOCK(?)", one, false},
		{histories.Acquire, "SELECT stock FROM stock WHERE k = ?", one, false},
	} {
		if got := TellsSQL(c.f, c.statement, c.rows); got != c.want {
			t.Errorf("%s by %s with %v: %t, want %t", c.f, c.statement, c.rows, got, c.want)
		}
	}
}

func TestLostReply(t *testing.T) {
	for want, reply := range map[string]any{
		`worker-3 never got the reply "OK" in its write`:                             "OK",
		`worker-3 never got the reply to "COMMIT" in its write`:                      Statement("COMMIT"),
		`worker-3 never got the reply "012345678901234567890123456789" in its write`: "0123456789012345678901234567890",
	} {
		if got := LostReply(3, histories.Write, reply); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
