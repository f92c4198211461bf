package corpus_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/lockcheck/lockcheck/histories"
	"github.com/lockcheck/lockcheck/histories/corpus"
)

func TestEveryHistoryCanBeReadAndSaysWhatToExpect(t *testing.T) {
	names, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := corpus.Files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := histories.ReadJSON(f)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(h.Header.Expect) == 0 || len(h.Notes) > 0 {
			t.Errorf("%s: expects %v, notes %q", name, h.Header.Expect, h.Notes)
		}
	}
}

func TestEveryFolderHasAReadmeThatExplainsItsHistories(t *testing.T) {
	names, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		folder, file := path.Split(name)
		readme, err := os.ReadFile(folder + "README.md")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		about := strings.TrimSuffix(file, ".jsonl")
		if folder != "properties/" && !strings.Contains(string(readme), "| "+about+" |") {
			t.Errorf("%sREADME.md does not explain %s", folder, about)
		}
	}
}
