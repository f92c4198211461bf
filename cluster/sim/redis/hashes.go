package redis

import "strconv"

// hash is the value of a hash key.
type hash struct{ table }

func (*hash) kind() string   { return "hash" }
func (h *hash) clone() value { return &hash{h.copy()} }

func newHash() *hash { return &hash{} }

func (h *hash) size() int {
	if h == nil {
		return 0
	}
	return h.len()
}

// content answers what a field holds. A nil hash is empty.
func (h *hash) content(field string) (string, bool) {
	if h == nil {
		return "", false
	}
	i := h.find(field)
	if i < 0 {
		return "", false
	}
	return h.contents[i], true
}

// set reports whether the field is new.
func (h *hash) set(field, content string) bool {
	if i := h.find(field); i >= 0 {
		h.contents[i] = content
		return false
	}
	h.contents = append(h.contents, content)
	h.add(field)
	return true
}

// obtain answers the value of key for a command that adds to it, and creates
// it if there is no key. The command must not fail afterwards.
func obtain[V value](k *Keyspace, key string, fresh func() V) (v V, bad any) {
	if k.find(key) == nil {
		v = fresh()
		k.entries[key] = &entry{value: v}
		return v, nil
	}
	return lookup[V](k, key)
}

func (k *Keyspace) hset(args []string) any {
	if len(args)%2 != 0 {
		return wrongArity("hset")
	}
	h, bad := obtain(k, args[1], newHash)
	if bad != nil {
		return bad
	}
	created := 0
	for i := 2; i < len(args); i += 2 {
		if h.set(args[i], args[i+1]) {
			created++
		}
	}
	k.touched = true
	return count(created)
}

func (k *Keyspace) hsetNX(args []string) any {
	h, bad := obtain(k, args[1], newHash)
	if bad != nil {
		return bad
	}
	if h.find(args[2]) >= 0 {
		return int64(0)
	}
	h.set(args[2], args[3])
	k.touched = true
	return int64(1)
}

func (k *Keyspace) hget(args []string) any {
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	if content, found := h.content(args[2]); found {
		return content
	}
	return nil
}

func (k *Keyspace) hmget(args []string) any {
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	reply := make([]any, len(args)-2)
	for i, field := range args[2:] {
		if content, found := h.content(field); found {
			reply[i] = content
		}
	}
	return reply
}

func (k *Keyspace) hgetAll(args []string) any {
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	if h == nil {
		return []any{}
	}
	reply := make([]any, 0, 2*h.len())
	for i, field := range h.names {
		reply = append(reply, field, h.contents[i])
	}
	return reply
}

func (k *Keyspace) hdel(args []string) any {
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	if h == nil {
		return int64(0)
	}
	return k.removeFrom(&h.table, args)
}

// removeFrom takes the names behind the key out of its table, and the key
// with the last one.
func (k *Keyspace) removeFrom(t *table, args []string) any {
	removed := 0
	for _, name := range args[2:] {
		if t.remove(name) {
			removed++
		}
	}
	if t.len() == 0 {
		delete(k.entries, args[1])
	}
	k.touched = removed > 0
	return count(removed)
}

func (k *Keyspace) hexists(args []string) any {
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	_, found := h.content(args[2])
	return yes(found)
}

func (k *Keyspace) hincrBy(args []string) any {
	delta, isInt := integer(args[3])
	if !isInt {
		return notInteger
	}
	h, bad := lookup[*hash](k, args[1])
	if bad != nil {
		return bad
	}
	n := int64(0)
	if content, found := h.content(args[2]); found {
		if n, isInt = integer(content); !isInt {
			return Error("ERR hash value is not an integer")
		}
	}
	sum, fits := add(n, delta)
	if !fits {
		return overflow
	}
	h, _ = obtain(k, args[1], newHash)
	h.set(args[2], strconv.FormatInt(sum, 10))
	k.touched = true
	return sum
}
