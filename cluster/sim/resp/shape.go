package resp

import "strconv"

// shaped gives a reply the kind that it has in RESP3: what in RESP2 is an array
// or a string for want of anything better.
func shaped(command string, version int, reply any) any {
	if version < 3 {
		return reply
	}
	items, isList := reply.([]any)
	switch command {
	case "HGETALL":
		if isList {
			return Map(items)
		}
	case "SMEMBERS":
		if isList {
			return Set(items)
		}
	case "ZSCORE":
		if text, ok := reply.(string); ok {
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				return f
			}
		}
	}
	return reply
}
