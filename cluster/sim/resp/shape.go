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
	case "XREADGROUP":
		if isList {
			return byStream(items)
		}
	}
	return reply
}

// byStream makes pairs of stream and entries a map.
func byStream(pairs []any) any {
	m := Map{}
	for _, p := range pairs {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return pairs
		}
		m = append(m, pair...)
	}
	return m
}
