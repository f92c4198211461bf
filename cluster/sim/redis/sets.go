package redis

// set is the value of a set key.
type set struct{ table }

func (*set) kind() string   { return "set" }
func (s *set) clone() value { return &set{s.copy()} }

func newSet() *set { return &set{} }

func (s *set) size() int {
	if s == nil {
		return 0
	}
	return s.len()
}

func (k *Keyspace) sadd(args []string) any {
	s, bad := obtain(k, args[1], newSet)
	if bad != nil {
		return bad
	}
	added := 0
	for _, member := range args[2:] {
		if s.find(member) < 0 {
			s.add(member)
			added++
		}
	}
	k.touched = added > 0
	return count(added)
}

func (k *Keyspace) srem(args []string) any {
	s, bad := lookup[*set](k, args[1])
	if bad != nil {
		return bad
	}
	if s == nil {
		return int64(0)
	}
	return k.removeFrom(&s.table, args)
}

func (k *Keyspace) sisMember(args []string) any {
	s, bad := lookup[*set](k, args[1])
	if bad != nil {
		return bad
	}
	return yes(s != nil && s.find(args[2]) >= 0)
}

func (k *Keyspace) smembers(args []string) any {
	s, bad := lookup[*set](k, args[1])
	if bad != nil {
		return bad
	}
	if s == nil {
		return []any{}
	}
	return bulk(s.names)
}
