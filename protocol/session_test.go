package protocol_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/protocol"
)

const ms = time.Millisecond

// started is a session whose child is ready, at 10 ms.
func started(t *testing.T, can ...string) *protocol.Session {
	t.Helper()
	s := protocol.NewSession(protocol.Hello{TTL: 5000, Wait: 2000}, protocol.Limits{})
	s.Greet(0)
	quoted := ""
	if len(can) > 0 {
		quoted = `"` + strings.Join(can, `","`) + `"`
	}
	said := s.Hear(10*ms, []byte(`{"ready":"my-lock 1.4","can":[`+quoted+`]}`+"\n"))
	if _, ok := s.Ready(); !ok {
		t.Fatalf("not ready: %v", said)
	}
	return s
}

// asked is a session that was asked for something, at 100 ms.
func asked(t *testing.T, do string, can ...string) *protocol.Session {
	t.Helper()
	s := started(t, can...)
	if _, err := s.Ask(100*ms, protocol.Request{Do: do, Key: "k"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// kinds are what was heard, in short.
func kinds(said []protocol.Heard) []string {
	var all []string
	for _, h := range said {
		switch h := h.(type) {
		case protocol.Ready:
			all = append(all, "ready")
		case protocol.Answer:
			all = append(all, string(h.Outcome))
		case protocol.Note:
			all = append(all, "note "+h.Note)
		case protocol.Step:
			all = append(all, "step "+h.Step)
		case protocol.Finding:
			all = append(all, string(h.Kind))
		}
	}
	return all
}

func TestEveryLineIsAnAnswerOrAFinding(t *testing.T) {
	tests := []struct {
		name, do, line string
		can            []string
		want           []string
	}{
		{"a grant", "acquire", `{"id":1,"ok":true,"token":"9f","valid_ms":4900,"fence":17}`, nil, []string{"ok"}},
		{"a grant without a token", "acquire", `{"id":1,"ok":true}`, nil, []string{"ok"}},
		{"null is absent", "acquire", `{"id":1,"ok":true,"token":null,"fence":null,"valid_ms":null}`, nil, []string{"ok"}},
		{"notes of the writer", "acquire", `{"id":1,"ok":true,"x-tries":3}`, nil, []string{"ok"}},
		{"a busy lock", "acquire", `{"id":1,"busy":true}`, nil, []string{"busy"}},
		{"a refused acquire", "acquire", `{"id":1,"refused":"no route"}`, nil, []string{"refused"}},
		{"an acquire of which nobody knows", "acquire", `{"id":1,"unknown":"timeout"}`, nil, []string{"unknown"}},
		{"an extend that came too late", "extend", `{"id":1,"gone":true}`, nil, []string{"gone"}},
		{"a release that came too late", "release", `{"id":1,"gone":true}`, nil, []string{"gone"}},
		{"a sale", "sell", `{"id":1,"ok":true,"left":3}`, nil, []string{"ok"}},
		{"a sold-out batch", "sell", `{"id":1,"sold_out":true,"seen":0}`, nil, []string{"sold_out"}},
		{"a carriage return", "acquire", "{\"id\":1,\"busy\":true}\r", nil, []string{"busy"}},
		{"empty lines", "acquire", "\n \n\t\n", nil, nil},

		{"prose", "acquire", "PHP Warning:  Undefined variable $x", nil, []string{"prose"}},
		{"a list", "acquire", `[1,2]`, nil, []string{"prose"}},
		{"null", "acquire", `null`, nil, []string{"prose"}},
		{"half an object", "acquire", `{"id":1,`, nil, []string{"prose"}},
		{"bytes that are no text", "acquire", "\xff\xfe\x00", nil, []string{"prose"}},
		{"two objects on a line", "acquire", `{"id":1,"ok":true}{"id":1,"ok":true}`, nil, []string{"prose"}},
		{"an object that is no message", "acquire", `{"hello":"you"}`, nil, []string{"malformed"}},
		{"an id that is no number", "acquire", `{"id":"one","ok":true}`, nil, []string{"malformed"}},
		{"an id that is null", "acquire", `{"id":null,"ok":true}`, nil, []string{"malformed"}},
		{"a misspelt field", "acquire", `{"id":1,"ok":true,"tokn":"9f"}`, nil, []string{"unknown", "malformed"}},
		{"a field twice", "acquire", `{"id":1,"busy":true,"busy":false}`, nil, []string{"unknown", "malformed"}},
		{"a number where a truth value is due", "acquire", `{"id":1,"ok":1}`, nil, []string{"unknown", "malformed"}},
		{"no outcome", "acquire", `{"id":1}`, nil, []string{"unknown", "wrong-answer"}},
		{"ok is false", "acquire", `{"id":1,"ok":false}`, nil, []string{"unknown", "wrong-answer"}},
		{"two outcomes", "acquire", `{"id":1,"ok":true,"busy":true}`, nil, []string{"unknown", "wrong-answer"}},
		{"an outcome that an acquire does not have", "acquire", `{"id":1,"gone":true}`, nil, []string{"unknown", "wrong-answer"}},
		{"an outcome that a release does not have", "release", `{"id":1,"busy":true}`, nil, []string{"unknown", "wrong-answer"}},
		{"a promised number that is missing", "acquire", `{"id":1,"ok":true}`, []string{"fence"}, []string{"unknown", "wrong-answer"}},
		{"a promised deadline that is missing", "acquire", `{"id":1,"ok":true}`, []string{"deadline"}, []string{"unknown", "wrong-answer"}},
		{"a lease longer than asked for", "acquire", `{"id":1,"ok":true,"valid_ms":5001}`, nil, []string{"unknown", "bad-validity"}},
		{"a lease of a negative length", "acquire", `{"id":1,"ok":true,"valid_ms":-1}`, nil, []string{"unknown", "bad-validity"}},
		{"a lease beyond all numbers", "acquire", `{"id":1,"ok":true,"valid_ms":1e300}`, nil, []string{"unknown", "bad-validity"}},
		{"a token of a kilobyte", "acquire", `{"id":1,"ok":true,"token":"` + strings.Repeat("x", 1024) + `"}`, nil, []string{"unknown", "wrong-answer"}},
		{"an answer to the future", "acquire", `{"id":2,"ok":true}`, nil, []string{"future-answer"}},
		{"an answer to request 0", "acquire", `{"id":0,"ok":true}`, nil, []string{"future-answer"}},
		{"a second answer", "acquire", `{"id":1,"busy":true}` + "\n" + `{"id":1,"ok":true}`, nil, []string{"busy", "second-answer"}},
		{"a second ready", "acquire", `{"ready":"again"}`, nil, []string{"out-of-turn"}},

		{"a lost hold", "acquire", `{"note":"lost","key":"k","token":"9f"}`, nil, []string{"note lost"}},
		{"a renewal", "acquire", `{"note":"renewed","key":"k","valid_ms":100.5}`, nil, []string{"note renewed"}},
		{"a misspelt note", "acquire", `{"note":"aquired","key":"k"}`, nil, []string{"malformed"}},
		{"a note about nothing", "acquire", `{"note":"lost"}`, nil, []string{"malformed"}},
		{"a renewal that lies", "acquire", `{"note":"renewed","key":"k","valid_ms":60000}`, nil, []string{"bad-validity"}},
		{"a step of the request", "acquire", `{"step":"before-expire","id":1}`, nil, []string{"step before-expire"}},
		{"a step of no request", "acquire", `{"step":"renewal"}`, nil, []string{"step renewal"}},
		{"a step of another request", "acquire", `{"step":"before-expire","id":2}`, nil, []string{"out-of-turn"}},
		{"a step without a name", "acquire", `{"step":""}`, nil, []string{"malformed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := asked(t, tt.do, tt.can...)
			if diff := cmp.Diff(tt.want, kinds(s.Hear(200*ms, []byte(tt.line+"\n")))); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}

// However the bytes are cut, the same is heard.
func TestLinesMayComeInPieces(t *testing.T) {
	text := []byte("prose\n{\"id\":1,\"ok\":true,\"token\":\"\u00e9\"}\n\n{\"note\":\"lost\",\"key\":\"k\"}\r\n{\"id\":1,\"ok\":true}\n")
	whole := asked(t, "acquire").Hear(200*ms, text)
	for size := 1; size < len(text); size++ {
		s := asked(t, "acquire")
		var said []protocol.Heard
		for rest := text; len(rest) > 0; {
			n := min(size, len(rest))
			said = append(said, s.Hear(200*ms, rest[:n])...)
			rest = rest[n:]
		}
		if diff := cmp.Diff(whole, said); diff != "" {
			t.Fatalf("in pieces of %d bytes (-whole +pieces):\n%s", size, diff)
		}
	}
}

func TestWhoStampsWhat(t *testing.T) {
	s := asked(t, "acquire")
	a := s.Hear(250*ms, []byte(`{"id":1,"ok":true,"valid_ms":4900}`+"\n"))[0].(protocol.Answer)
	if a.Asked != 100*ms || a.Read != 250*ms || a.Until != 5000*ms {
		t.Errorf("asked %v, read %v, until %v: want the hold from the reading and the lease from the sending", a.Asked, a.Read, a.Until)
	}
	n := s.Hear(3000*ms, []byte(`{"note":"renewed","key":"k","valid_ms":4900}`+"\n"))[0].(protocol.Note)
	if n.Until != 5000*ms {
		t.Errorf("a renewal at an unknown time is valid until %v: want it to count from the last line sent", n.Until)
	}
	step := s.Hear(3100*ms, []byte(`{"step":"renewal"}`+"\n"))[0].(protocol.Step)
	s.Go(3200*ms, step)
	n = s.Hear(3300*ms, []byte(`{"note":"renewed","key":"k","valid_ms":4900}`+"\n"))[0].(protocol.Note)
	if n.Until != 8100*ms {
		t.Errorf("a renewal after a step is valid until %v: want it to count from the go", n.Until)
	}
}

func TestWhatIsDueIsDueInTime(t *testing.T) {
	s := protocol.NewSession(protocol.Hello{TTL: 5000, Wait: 2000}, protocol.Limits{Ready: time.Second, Answer: time.Second})
	s.Greet(0)
	if at, ok := s.Deadline(); !ok || at != time.Second {
		t.Errorf("ready is due at %v", at)
	}
	if said := s.Expire(999 * ms); said != nil {
		t.Errorf("it had time left, and was told %v", kinds(said))
	}
	s.Hear(500*ms, []byte("{\"ready\":\"x\"}\n"))
	if at, ok := s.Deadline(); ok {
		t.Errorf("something is due at %v, and nothing was asked", at)
	}
	s.Ask(time.Second, protocol.Request{Do: protocol.Acquire, Key: "k"})
	s.Postpone(500 * ms)
	if at, _ := s.Deadline(); at != 4500*ms {
		t.Errorf("the answer is due at %v: want 1 s sent, 1 s limit, 2 s of patience, 0.5 s frozen", at)
	}
	step := s.Hear(2000*ms, []byte("{\"step\":\"a\",\"id\":1}\n"))[0].(protocol.Step)
	if _, ok := s.Deadline(); ok {
		t.Error("something is due of a child that waits for lockcheck")
	}
	s.Go(3000*ms, step)
	if at, _ := s.Deadline(); at != 5500*ms {
		t.Errorf("the answer is due at %v: want the second at the step added", at)
	}
	if diff := cmp.Diff([]string{"no-answer", "unknown"}, kinds(s.Expire(5500*ms))); diff != "" {
		t.Error(diff)
	}
	if _, err := s.Ask(6*time.Second, protocol.Request{Do: protocol.Acquire}); err != protocol.ErrOver {
		t.Errorf("it can be asked again: %v", err)
	}
}

func TestEveryRequestHasOneAnswer(t *testing.T) {
	tests := []struct {
		name string
		then func(s *protocol.Session) []protocol.Heard
		want []string
	}{
		{"the child ends", func(s *protocol.Session) []protocol.Heard { return s.End(time.Second, "exit status 1") }, []string{"ended", "unknown"}},
		{"time is up", func(s *protocol.Session) []protocol.Heard { return s.Expire(time.Hour) }, []string{"no-answer", "unknown"}},
		{"lockcheck ends it", func(s *protocol.Session) []protocol.Heard {
			a, _ := s.Close(time.Second)
			return append([]protocol.Heard{a}, s.End(2*time.Second, "signal: killed")...)
		}, []string{"unknown"}},
		{"it does not read", func(s *protocol.Session) []protocol.Heard { return s.Lost(time.Second, "broken pipe") }, []string{"deaf", "unknown"}},
		{"a line has no end", func(s *protocol.Session) []protocol.Heard {
			return s.Hear(time.Second, bytes.Repeat([]byte("x"), protocol.MaxLine+1))
		}, []string{"long-line", "unknown"}},
		{"given up", func(s *protocol.Session) []protocol.Heard {
			a, _ := s.GiveUp(time.Second, "the run is over")
			return append([]protocol.Heard{a}, s.Hear(2*time.Second, []byte("{\"id\":1,\"ok\":true}\n{\"id\":1,\"ok\":true}\n"))...)
		}, []string{"unknown", "late-answer", "second-answer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := asked(t, "acquire")
			if diff := cmp.Diff(tt.want, kinds(tt.then(s))); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoEndsWhenItShouldIsNoFinding(t *testing.T) {
	s := started(t)
	s.Close(time.Second)
	said := s.Hear(time.Second, []byte("good bye\n"))
	if said = append(said, s.End(2*time.Second, "exit status 0")...); said != nil {
		t.Errorf("found %v", kinds(said))
	}
}

func TestAnEndlessLineTakesNoMemory(t *testing.T) {
	s := asked(t, "acquire")
	piece := bytes.Repeat([]byte("x"), 1<<20)
	var said []protocol.Heard
	for range 100 {
		said = append(said, s.Hear(time.Second, piece)...)
	}
	if len(said) != 2 {
		t.Fatalf("heard %v", kinds(said))
	}
	f := said[0].(protocol.Finding)
	if len(f.Line) > 200 || !strings.Contains(f.String(), "xxxx") {
		t.Errorf("the line is quoted as %.300s", f)
	}
}

// Half the child's lines are nonsense: that is borne for a while.
func TestNonsenseHasALimit(t *testing.T) {
	s := started(t)
	lines := 0
	for ; !s.Over(); lines++ {
		if lines > 1000 {
			t.Fatal("a thousand lines of nonsense are borne")
		}
		said := s.Hear(time.Second, fmt.Appendf(nil, "nonsense %d\n", lines))
		if s.Over() {
			last := said[len(said)-1].(protocol.Finding)
			if last.Kind != protocol.Nonsense || !last.Fatal() || !strings.Contains(last.Line, "nonsense 100") {
				t.Errorf("ended by %s (%s)", last.Kind, last)
			}
		}
	}
	if lines != 101 {
		t.Errorf("borne for %d lines, want 101", lines)
	}
}

func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"ok":true,"token":"9f","valid_ms":4900,"fence":17}`, `{"note":"lost","key":"k"}`, `{"step":"a","id":1}`,
		`{"ready":"x"}`, "prose", `{"id":1,"unknown":"\ud800"}`, "{}", "\x00\n\n{",
	} {
		f.Add([]byte(seed+"\n"), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		s := asked(t, "acquire")
		answers := 0
		for rest := text; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			for _, h := range s.Hear(time.Second, rest[:n]) {
				switch h := h.(type) {
				case protocol.Answer:
					answers++
				case protocol.Finding:
					if len(h.String()) > 2048 {
						t.Errorf("a finding of %d bytes", len(h.String()))
					}
				}
			}
			rest = rest[n:]
		}
		for _, h := range s.End(2*time.Second, "exit status 0") {
			if _, is := h.(protocol.Answer); is {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("%d answers to one request", answers)
		}
	})
}
