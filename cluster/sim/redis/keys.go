package redis

import "strings"

// is compares an argument with an option's name, in any case.
func is(arg, option string) bool { return strings.EqualFold(arg, option) }

// keys is the one command that does not delete the expired keys which it
// comes across.
func (k *Keyspace) keys(args []string) any {
	found := []any{}
	for _, key := range k.sortedKeys() {
		if match(args[1], key) && !k.expired(k.entries[key]) {
			found = append(found, key)
		}
	}
	return found
}

// scan answers all keys at once, so no key can be missed between two calls.
// The real server promises no more than that keys which are there all the
// time are seen.
func (k *Keyspace) scan(args []string) any {
	if _, isInt := integer(args[1]); !isInt {
		return Error("ERR invalid cursor")
	}
	pattern, kind := "*", ""
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return syntaxError
		}
		option, arg := args[i], args[i+1]
		switch {
		case is(option, "COUNT"):
			if n, isInt := integer(arg); !isInt {
				return notInteger
			} else if n < 1 {
				return syntaxError
			}
		case is(option, "MATCH"):
			pattern = arg
		case is(option, "TYPE"):
			kind = strings.ToLower(arg)
		default:
			return syntaxError
		}
	}
	found := []any{}
	for _, key := range k.sortedKeys() {
		if !match(pattern, key) {
			continue
		}
		if e := k.find(key); e != nil && (kind == "" || e.value.kind() == kind) {
			found = append(found, key)
		}
	}
	return []any{"0", found}
}

func (k *Keyspace) typeOf(args []string) any {
	if e := k.find(args[1]); e != nil {
		return status(e.value.kind())
	}
	return status("none")
}

func (k *Keyspace) del(args []string) any {
	gone := 0
	for _, key := range args[1:] {
		if k.find(key) != nil {
			delete(k.entries, key)
			gone++
		}
	}
	k.touched = gone > 0
	return count(gone)
}

func (k *Keyspace) exists(args []string) any {
	found := 0
	for _, key := range args[1:] {
		if k.find(key) != nil {
			found++
		}
	}
	return count(found)
}
