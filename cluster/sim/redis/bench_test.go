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

const compareAndDelete = `
if redis.call("get", KEYS[1]) == ARGV[1] then
	return redis.call("del", KEYS[1])
else
	return 0
end`

func BenchmarkScript(b *testing.B) {
	k := New()
	sha := k.Do(start, Master, []string{"SCRIPT", "LOAD", compareAndDelete}).Reply.(string)
	set := words("SET lock token")
	release := []string{"EVALSHA", sha, "1", "lock", "token"}
	foreign := []string{"EVALSHA", sha, "1", "lock", "another"}
	b.ReportAllocs()
	for b.Loop() {
		k.Do(start, Master, set)
		if k.Do(start, Master, foreign).Reply != int64(0) || k.Do(start, Master, release).Reply != int64(1) {
			b.Fatal("wrong reply")
		}
	}
	b.ReportMetric(float64(3*b.N)/b.Elapsed().Seconds(), "commands/s")
}

func BenchmarkNewVM(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New().Do(start, Master, []string{"EVAL", "return 1", "0"})
	}
}
