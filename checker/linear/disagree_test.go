package linear

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockcheck/lockcheck/checker/internal/sample"
	"github.com/lockcheck/lockcheck/histories"
)

// disagreements is where histories go on which an exact check and the brute
// force differ. rapid plays the smallest one last, so that is what stays, with
// what the brute force says as its expected verdict: a case of the corpus from
// then on.
const disagreements = "../../histories/corpus/disagreements"

// The properties that the corpus expects of disagreements.
const (
	lockProperty  = "lock-not-linearizable"
	stockProperty = "stock-not-linearizable"
)

// keepDisagreement writes a history for the corpus.
func keepDisagreement(folder string, property string, header histories.Header, ops []*histories.Op, legal bool) error {
	header.Format, header.Expect = histories.Format, map[string]string{property: ""}
	if legal {
		header.Expect = map[string]string{"verdict": "valid"}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, property+".jsonl"))
	if err != nil {
		return err
	}
	list := make([]histories.Op, len(ops))
	for i, op := range ops {
		list[i] = *op
	}
	return errors.Join(sample.Write(f, header, list), f.Close())
}

func TestDisagreementsAreKeptForTheCorpus(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	ops := []*histories.Op{
		{ID: 1, Process: 0, F: histories.Acquire, Key: "k", Call: 1, Return: 2, Outcome: histories.OK, Token: "a"},
		{ID: 2, Process: 1, F: histories.Acquire, Key: "k", Call: 3, Return: 4, Outcome: histories.OK, Token: "b"},
	}
	for _, legal := range []bool{true, false} {
		if err := keepDisagreement(folder, lockProperty, histories.Header{}, ops, legal); err != nil {
			t.Fatal(err)
		}
		h, err := histories.ReadFile(filepath.Join(folder, lockProperty+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{lockProperty: ""}
		if legal {
			want = map[string]string{"verdict": "valid"}
		}
		if diff := cmp.Diff(want, h.Header.Expect); diff != "" || len(h.Ops) != len(ops) || h.Ops[1].Token != "b" {
			t.Errorf("%d operations, expected verdict differs:\n%s", len(h.Ops), diff)
		}
	}
}
