package redis

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// realStream is the replication stream of a real master, read as a replica does.
type realStream struct{ *RealConn }

// Replicate connects as a replica and skips the dataset as it is.
func (s *RealServer) Replicate(t testing.TB) realStream {
	t.Helper()
	c := s.Dial(t)
	c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c.conn, "SYNC\r\n"); err != nil {
		t.Fatal(err)
	}
	header := ""
	for header == "" {
		line, err := c.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		header = strings.TrimSpace(line)
	}
	size, err := strconv.Atoi(strings.TrimPrefix(header, "$"))
	if err != nil {
		t.Fatalf("SYNC answered %q", header)
	}
	if _, err := io.CopyN(io.Discard, c.in, int64(size)); err != nil {
		t.Fatal(err)
	}
	return realStream{c}
}

// until answers the effects before a mark.
func (s realStream) until(mark string) [][]string {
	s.t.Helper()
	var effects [][]string
	for {
		s.conn.SetDeadline(time.Now().Add(10 * time.Second))
		reply, err := s.read()
		if err != nil {
			s.t.Fatalf("replication stream: %v", err)
		}
		var effect []string
		for _, word := range reply.([]any) {
			effect = append(effect, word.(string))
		}
		effect[0] = strings.ToUpper(effect[0])
		switch effect[0] {
		case "SELECT", "PING", "MULTI", "EXEC", "REPLCONF":
			continue
		case "PUBLISH":
			if effect[2] == mark {
				return effects
			}
		}
		effects = append(effects, effect)
	}
}

// essence leaves out of an effect what makes no difference where it is
// applied: conditions that were met, moments, counters that nothing shows.
func essence(effect []string) []any {
	effect = slices.Clone(effect)
	drop := func(from int, words ...string) {
		kept := slices.DeleteFunc(slices.Clone(effect[from:]), func(word string) bool {
			return slices.Contains(words, strings.ToUpper(word))
		})
		effect = append(effect[:from:from], kept...)
	}
	switch effect[0] {
	case "SET":
		drop(3, "NX", "XX", "GET")
	case "SETNX", "GETSET":
		effect[0] = "SET"
	case "GETDEL":
		effect[0] = "DEL"
	case "PEXPIREAT":
		effect = effect[:3]
	}
	var words []any
	for _, word := range effect {
		if ms, err := strconv.ParseInt(word, 10, 64); err == nil {
			words = append(words, ms)
		} else {
			words = append(words, word)
		}
	}
	return words
}

func essences(effects [][]string) []any {
	all := []any{}
	for _, effect := range effects {
		all = append(all, essence(effect))
	}
	return all
}

func sortEffects(effects [][]string) {
	slices.SortFunc(effects, slices.Compare)
}

// effects tells both a command and compares what they tell their replicas.
func (p *pair) effects(stream realStream, mark string, args []string) {
	p.t.Helper()
	p.real.Do(args...)
	model := p.model.Do(time.Now(), Master, args).Effects
	p.real.Do("PUBLISH", "mark", mark)
	real := stream.until(mark)
	if args[0] == "SCAN" { // which deletes expired keys in the order of its own
		sortEffects(real)
		sortEffects(model)
	}
	if diff := cmp.Diff(essences(real), essences(model), sameMoment, p.real.version.alike()); diff != "" {
		p.t.Errorf("effects of %s (-real +model)\n%s", quote(args), diff)
	}
}

func TestEffectsAsARealMasterSendsThem(t *testing.T) {
	server := StartRealServer(t)
	for name, lines := range sequences {
		t.Run(name, func(t *testing.T) {
			p := &pair{t: t, model: New(), real: server.Dial(t)}
			p.real.Do("FLUSHALL")
			stream := server.Replicate(t)
			for i, line := range lines {
				p.effects(stream, strconv.Itoa(i), split(line))
			}
		})
	}
	t.Run("scripts", func(t *testing.T) {
		p := &pair{t: t, model: New(), real: server.Dial(t)}
		p.real.Do("FLUSHALL")
		stream := server.Replicate(t)
		for i, e := range []evaluation{
			{fencedAcquire, "lock fence", "me 100000"}, {fencedAcquire, "lock fence", "other 100000"}, {renew, "lock", "me 200000"}, {compareAndDelete, "lock", "me"}, {compareAndDelete, "lock", "me"},
			{reentrantAcquire, "rlock", "100000 w1:1"}, {reentrantRelease, "rlock channel", "0 100000 w1:1"}, {checkAndDecrement, "stock orders", "1 order-1"},
			{`redis.call('set', KEYS[1], '5') redis.call('lpop', KEYS[1])`, "stock", ""}, {checkAndDecrement, "stock orders", "2 order-2"}, {oncePerOrder, "seen stock", "o1"}, {oncePerOrder, "seen none", "o2"},
			{`redis.call('incr', 'n') return redis.pcall('nosuch')`, "", ""}, {`redis.call('set', 'n', '1', 'PXAT', '1') return redis.call('get', 'n')`, "", ""}, {`return redis.call('publish', 'c', 'm')`, "", ""},
		} {
			p.effects(stream, strconv.Itoa(i), e.command("EVAL"))
		}
	})
}

func TestRandomEffectsAsARealMasterSendsThem(t *testing.T) {
	server := StartRealServer(t)
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 3))}
			p := &pair{t: t, model: New(), real: server.Dial(t)}
			p.real.Do("FLUSHALL")
			stream := server.Replicate(t)
			for i := range 300 {
				p.effects(stream, strconv.Itoa(i), g.command())
				if t.Failed() {
					return
				}
			}
		})
	}
}
