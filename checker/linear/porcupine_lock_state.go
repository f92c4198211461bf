package linear

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

func has(set string, place int32) bool { return slices.Contains(members(set), place) }

func with(set string, place int32) string {
	all := append(members(set), place)
	slices.Sort(all)
	return encode(all)
}

func without(set string, place int32) string {
	return encode(slices.DeleteFunc(members(set), func(p int32) bool { return p == place }))
}

func members(set string) []int32 {
	out := make([]int32, 0, len(set)/4+1)
	for ; len(set) >= 4; set = set[4:] {
		out = append(out, int32(binary.LittleEndian.Uint32([]byte(set[:4]))))
	}
	return out
}

func encode(places []int32) string {
	var b strings.Builder
	for _, p := range places {
		var four [4]byte
		binary.LittleEndian.PutUint32(four[:], uint32(p))
		b.Write(four[:])
	}
	return b.String()
}

func describeLock(input any) string {
	act, ok := input.(*lockAct)
	switch {
	case !ok:
		return describe(input)
	case act.kind == lockLapse:
		return fmt.Sprintf("the grant of op %d may lapse", act.op.ID)
	case act.kind == lockAge:
		return fmt.Sprintf("the lease of op %d can have run out", act.op.ID)
	}
	return describe(act.op)
}

func (m *lockModel) describe(state any) string {
	w := state.(lockWorld)
	holders := members(w.live)
	if len(holders) == 0 {
		return "free"
	}
	var parts []string
	for _, p := range holders {
		parts = append(parts, fmt.Sprintf("worker %s by op %d", m.acquires[p].Process, m.acquires[p].ID))
	}
	return "held by " + strings.Join(parts, ", ")
}
