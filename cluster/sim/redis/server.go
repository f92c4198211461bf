package redis

import "strconv"

func (k *Keyspace) ping(args []string) any {
	switch len(args) {
	case 1:
		return status("PONG")
	case 2:
		return args[1]
	}
	return wrongArity("ping")
}

func (k *Keyspace) echo(args []string) any { return args[1] }

func (k *Keyspace) clock([]string) any {
	micros := k.now.UnixMicro()
	return []any{strconv.FormatInt(micros/1e6, 10), strconv.FormatInt(micros%1e6, 10)}
}

// selectDB knows the database 0 alone.
func (k *Keyspace) selectDB(args []string) any {
	db, isInt := integer(args[1])
	switch {
	case !isInt:
		return notInteger
	case db != 0:
		return Error("ERR DB index is out of range")
	}
	return ok
}

// publish answers no receivers: the node, which knows its subscribers,
// corrects the number.
func (k *Keyspace) publish(args []string) any {
	k.published = append(k.published, Message{Channel: args[1], Payload: args[2]})
	// A replica's own messages stay with it.
	k.touched = k.mode != Replica
	return int64(0)
}

func (k *Keyspace) dbSize([]string) any { return count(len(k.entries)) }

func (k *Keyspace) flush(args []string) any {
	if len(args) > 2 || len(args) == 2 && !is(args[1], "SYNC") && !is(args[1], "ASYNC") {
		return syntaxError
	}
	clear(k.entries)
	k.touched = true
	return ok
}
