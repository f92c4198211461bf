package protocol_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/protocol"
)

var conversation = regexp.MustCompile("(?s)```jsonl\n(.*?)```\n\nHeard: ([^\n]*)\n")

// TestTheProtocolPageIsTrue plays each conversation of docs/protocol.md: what
// lockcheck writes must be what it would write, and what the adapter writes
// must be heard as the page says.
func TestTheProtocolPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	all := conversation.FindAllStringSubmatch(string(page), -1)
	if blocks := strings.Count(string(page), "```jsonl"); len(all) != blocks || blocks < 10 {
		t.Fatalf("%d examples, but only of %d the page says what is heard", blocks, len(all))
	}
	for _, m := range all {
		heard := play(t, strings.Split(strings.TrimSpace(m[1]), "\n"))
		if diff := cmp.Diff(m[2], strings.Join(heard, ", ")); diff != "" {
			t.Errorf("of\n%s\nthe page says (-page +heard):\n%s", m[1], diff)
		}
	}
}

// play plays one conversation. One that does not begin with a hello is with an
// adapter that was greeted, and is ready unless it says so itself.
func play(t *testing.T, lines []string) (heard []string) {
	t.Helper()
	var s *protocol.Session
	var steps []protocol.Step
	if !strings.Contains(lines[0], `"hello"`) {
		s = protocol.NewSession(protocol.Hello{TTL: 5000}, protocol.Limits{})
		s.Greet(0)
		if !strings.Contains(lines[0], `"ready"`) {
			s.Hear(0, []byte("{\"ready\":\"x\"}\n"))
		}
	}
	for _, line := range lines {
		text, sent := strings.CutPrefix(line, "→ ")
		if !sent {
			for _, h := range s.Hear(0, []byte(strings.TrimPrefix(line, "← ")+"\n")) {
				if step, is := h.(protocol.Step); is {
					steps = append(steps, step)
				}
				word := kinds([]protocol.Heard{h})[0]
				if _, is := h.(protocol.Finding); is {
					word = "finding " + word
				}
				heard = append(heard, word)
			}
			continue
		}
		var would []byte
		switch {
		case strings.Contains(text, `"hello"`):
			var h protocol.Hello
			decode(t, text, &h)
			s = protocol.NewSession(h, protocol.Limits{})
			would = s.Greet(0)
		case strings.Contains(text, `"go"`):
			would = s.Go(0, steps[0])
			steps = steps[1:]
		default:
			var r protocol.Request
			decode(t, text, &r)
			var err error
			if would, err = s.Ask(0, r); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if diff := cmp.Diff(text+"\n", string(would)); diff != "" {
			t.Errorf("lockcheck writes otherwise (-page +lockcheck):\n%s", diff)
		}
	}
	return heard
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// The page names every word of the protocol.
func TestTheProtocolPageIsComplete(t *testing.T) {
	page, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{protocol.Words(), {protocol.Version, "65,536", "8 s"}} {
		for _, word := range words {
			if !strings.Contains(string(page), word) {
				t.Errorf("docs/protocol.md lacks %q", word)
			}
		}
	}
}
