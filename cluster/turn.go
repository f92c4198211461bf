package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Turn is a moment from which a simulated run takes its random numbers of another
// seed. Two runs that differ in a turn alone are the same, event for event, up to it.
type Turn struct {
	At   time.Duration `json:"at"` // ns since the start of the run
	Seed uint64        `json:"seed"`
}

// Turns are those of one run, in the order of time.
type Turns []Turn

// String is how a command line names them: "2.5s:77,3s:12".
func (t Turns) String() string {
	var all []string
	for _, turn := range t {
		all = append(all, fmt.Sprintf("%v:%d", turn.At, turn.Seed))
	}
	return strings.Join(all, ",")
}

// ReadTurns reads what String wrote. Its errors say what is wrong with which turn.
func ReadTurns(text string) (Turns, error) {
	var all Turns
	if text == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(text, ",") {
		at, seed, ok := strings.Cut(one, ":")
		t, err1 := time.ParseDuration(at)
		n, err2 := strconv.ParseUint(seed, 10, 64)
		if !ok || err1 != nil || err2 != nil || t < 0 {
			return nil, fmt.Errorf("%.40q: want a moment and a seed, such as 2.5s:77", one)
		}
		if len(all) > 0 && t < all[len(all)-1].At {
			return nil, fmt.Errorf("%.40q: turns come in the order of time", one)
		}
		all = append(all, Turn{t, n})
	}
	return all, nil
}
