package sim

import (
	"slices"
	"strconv"
	"strings"
)

// slots is the number of hash slots of a Redis Cluster.
const slots = 16384

// shards is how many masters share the slots here.
const shards = 3

// slot is the hash slot of a key: CRC16 of the key, or of what is between
// the first braces, if that is something.
func slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % slots
}

// crc16 is CRC-16/XMODEM, the one of the Redis Cluster specification.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

// shardOf is the number of the shard that has a slot: as redis-cli --cluster
// create deals them out.
func shardOf(slot int) int {
	switch {
	case slot <= 5460:
		return 0
	case slot <= 10922:
		return 1
	}
	return 2
}

// firstSlot and lastSlot are the range of a shard.
func firstSlot(shard int) int { return [shards]int{0, 5461, 10923}[shard] }
func lastSlot(shard int) int  { return [shards]int{5460, 10922, 16383}[shard] }

// keyless are the commands that any server of a cluster executes.
var keyless = []string{
	"PING", "ECHO", "TIME", "INFO", "ROLE", "WAIT", "PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "SCRIPT",
	"DBSIZE", "KEYS", "SCAN", "FLUSHALL", "FLUSHDB", "SELECT", "CLUSTER", "REPLICAOF", "PSYNC",
}

// keysOf are the keys that a command names.
func keysOf(args []string) []string {
	name := strings.ToUpper(args[0])
	switch {
	case len(args) < 2 || slices.Contains(keyless, name) || strings.HasPrefix(args[0], "sim."):
		return nil
	case name == "EVAL" || name == "EVALSHA" || name == "EVAL_RO" || name == "EVALSHA_RO":
		return scriptKeys(args)
	case name == "DEL" || name == "UNLINK" || name == "EXISTS" || name == "MGET":
		return args[1:]
	case name == "RPOPLPUSH" || name == "LMOVE":
		return args[1:min(3, len(args))]
	case name == "MSET":
		var keys []string
		for i := 1; i < len(args); i += 2 {
			keys = append(keys, args[i])
		}
		return keys
	}
	return args[1:2]
}

func scriptKeys(args []string) []string {
	if len(args) < 3 {
		return nil
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return nil
	}
	return args[3 : 3+n]
}
