package redis

import "testing"

func BenchmarkPlain(b *testing.B) {
	k := New()
	commands := [][]string{
		words("SET lock token NX PX 3000"), words("GET lock"), words("SET lock token NX PX 3000"),
		words("PEXPIRE lock 3000"), words("INCR fence"), words("DEL lock"),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k.Do(start, Master, commands[i%len(commands)])
	}
}
