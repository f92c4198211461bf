package tail

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheEndIsKept(t *testing.T) {
	small := Tail{Size: 5}
	for _, s := range []string{"ab", "cdefgh", "", "i", "\n"} {
		if n, err := small.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := small.String(); got != "fghi" {
		t.Errorf("kept %q, want the last five bytes, trimmed", got)
	}
	var standard Tail
	fmt.Fprint(&standard, strings.Repeat("x", 1<<20), "end")
	if got := standard.String(); len(got) != 2048 || !strings.HasSuffix(got, "xend") {
		t.Errorf("kept %d bytes", len(got))
	}
}
