package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/checker"
)

func TestEveryReportTellsZombieTime(t *testing.T) {
	r := validRun()
	v := *r.Verdict
	v.Zombie = &checker.Zombie{
		Longest: 3100 * ms, Total: 12400 * ms, Stretches: 7, Key: "stock:sku-1", From: 5 * sec, To: 8100 * ms,
		After: []checker.ZombieAfter{{Fault: "kill redis-1", Longest: 3100 * ms, Total: 12 * sec, Stretches: 5}, {Longest: 400 * ms, Total: 400 * ms, Stretches: 2}},
	}
	r.Verdict = &v
	const want = "Keys were refused for up to 3.1 s though nobody held them (stock:sku-1, from 5.000 s), 12.4 s in all, after: kill redis-1 (12 s), no fault (400 ms)."
	var text, page, markdown, machine bytes.Buffer
	for _, err := range []error{Text(&text, r, Style{}), HTML(&page, r), Markdown(&markdown, r), JSON(&machine, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]string{"text": text.String(), "html": page.String(), "markdown": markdown.String()} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%s does not say %q:\n%.300s", name, want, got)
		}
	}
	if err := loadSchema(t).validate(machine.Bytes()); err != nil {
		t.Error(err)
	}
}
