//go:build linux

package preload

import (
	"strings"
	"testing"
	"time"
)

// rounds plays a client for five rounds: the server answers, is silent, takes
// no connection, refuses it, and answers again.
func rounds(t *testing.T, seed uint64, words ...string) string {
	t.Helper()
	w := &world{t: t, p: command(t, Options{Command: words, Seed: seed, Hostname: "worker-3", PID: 5000003})}
	round := 0
	for i := range 5 {
		w.later(time.Duration(4*i+1)*time.Second, func() { round = i; w.p.Input([]byte("go\n")) })
	}
	w.later(30*time.Second, w.p.CloseInput)
	w.dial = func(Dial) (time.Duration, Failure) {
		switch round {
		case 2:
			return 0, never
		case 3:
			return 2 * time.Millisecond, Refused
		}
		return 2 * time.Millisecond, 0
	}
	w.serve = func(int, string) (time.Duration, string) {
		if round == 1 {
			return 0, ""
		}
		return time.Millisecond, "+PONG\r\n"
	}
	if err := w.play(); err != nil || w.status != "exit status 0" {
		t.Fatalf("%v, %s\n%s", err, w.status, w.p.Log())
	}
	return w.output.String()
}

func TestUnmodifiedProgramsLiveInVirtualTime(t *testing.T) {
	tests := []struct {
		name  string
		words []string
		want  []string // what each line begins with, and its moment
	}{
		{"phpredis", []string{"php", "testdata/client.php"}, []string{
			"up 1.002", "ping true 1.004", "up 5.002", "socket error on read socket 6.003",
			"Connection timed out 9.500", "Connection refused 13.002", "up 17.002", "ping true 17.004"}},
		{"redis-py", []string{"/usr/bin/python3", "testdata/client.py"}, []string{
			"up 1.000", "ping True 1.753", "up 5.000", "Timeout reading from socket 6.752",
			"up 9.000", "Timeout connecting to server 10.250", "up 13.000", "Error 111 connecting to 10.8.0.1:6379. Connection refused. 13.752",
			"up 17.000", "ping True 17.753"}},
		{"Perl", []string{"perl", "testdata/client.pl"}, []string{
			"up 1.002", "ping +PONG 1.503", "up 5.002", "no answer 6.502", "no connection 9.500", "no connection 13.002", "up 17.002", "ping +PONG 17.503"}},
		{"Node", []string{"node", "testdata/client.js"}, []string{
			"up 1.002", "ping +PONG 1.253", "up 5.002", "no answer 6.252", "no answer 10.000", "ECONNREFUSED 13.002", "up 17.002", "ping +PONG 17.253"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := rounds(t, 1, tt.words...)
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			for i := range max(len(lines), len(tt.want)) {
				if i >= len(lines) || i >= len(tt.want) || !strings.HasPrefix(lines[i], tt.want[i]) {
					t.Fatalf("line %d of\n%s\nwant\n%s", i+1, got, strings.Join(tt.want, "\n"))
				}
			}
			if again := rounds(t, 1, tt.words...); again != got {
				t.Errorf("the same seed gave\n%s\nand\n%s", got, again)
			}
		})
	}
}

func TestTheSeedDecidesWhatIsRandom(t *testing.T) {
	for _, words := range [][]string{{"php", "testdata/client.php"}, {"/usr/bin/python3", "testdata/client.py"}, {"perl", "testdata/client.pl"}} {
		if one, two := rounds(t, 1, words...), rounds(t, 2, words...); one == two {
			t.Errorf("%s: two seeds gave the same\n%s", words[0], one)
		}
	}
}
