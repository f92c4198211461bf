// Run plays the table of rows.go: libraries that others wrote, at versions of which
// something is expected. It is called in the root of the repository:
//
//	go run ./track/run --seeds=100
//
// Its exit code is 1 if a row showed anything else than what is expected of it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockcheck/lockcheck/locktest"
)

var (
	seeds = flag.Int("seeds", 100, "scenes of each row")
	only  = flag.String("only", "", "play the rows whose library has this in its name")
	limit = flag.Duration("limit", 10*time.Minute, "longest time for a row")
	file  = flag.String("json", "", "write the results to this file too")
)

// result is what a row showed.
type result struct {
	Library  string          `json:"library"`
	Version  string          `json:"version"`
	Use      string          `json:"use,omitempty"`
	Fault    string          `json:"fault"`
	Property string          `json:"property"`
	Expected string          `json:"expected"` // red or green
	Seen     string          `json:"seen"`     // red, green, or the error
	Broke    int             `json:"broke"`    // scenes in which the property broke
	Tally    *locktest.Tally `json:"tally,omitempty"`
}

func main() {
	flag.Parse()
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, "track/run:", err)
		os.Exit(1)
	}
}

func play() error {
	var results []result
	for _, r := range rows {
		if !strings.Contains(r.library, *only) {
			continue
		}
		res := r.result()
		fmt.Fprintf(os.Stderr, "%s %s, %s, %s: %s\n", r.library, r.version, cmp.Or(r.use, "as documented"), r.fault, res.Seen)
		results = append(results, res)
	}
	if len(results) == 0 {
		return fmt.Errorf("no library has %q in its name", *only)
	}
	if err := errors.Join(table(results), write(results)); err != nil {
		return err
	}
	news := 0
	for _, r := range results {
		if r.Seen != r.Expected {
			news++
		}
	}
	if news > 0 {
		return fmt.Errorf("%d of %d rows showed something else than expected", news, len(results))
	}
	return nil
}

func (r row) result() result {
	res := result{Library: r.library, Version: r.version, Use: r.use, Fault: r.fault, Property: r.property, Expected: colour(r.red)}
	var err error
	if res.Tally, err = r.tally(); err != nil {
		res.Seen = err.Error()
		return res
	}
	res.Broke = res.Tally.Broke[r.property]
	res.Seen = colour(res.Broke > 0)
	return res
}

func colour(red bool) string {
	if red {
		return "red"
	}
	return "green"
}

// tally runs the row's test and reads the tally that it logs.
func (r row) tally() (*locktest.Tally, error) {
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	args := []string{"test", "-count=1", "-v", "-modfile=" + r.modfile, "-tags=" + r.tags, "-run", "^" + r.test + "$/^" + r.fault + "$", "."}
	args = append(args, "-args", "-lockcheck.tally", "-lockcheck.seeds="+strconv.Itoa(*seeds))
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.FromSlash(r.dir)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if _, text, found := strings.Cut(line, locktest.TallyPrefix); found && err == nil {
			sum := &locktest.Tally{}
			return sum, json.Unmarshal([]byte(text), sum)
		}
	}
	return nil, fmt.Errorf("%w: %s", cmp.Or(err, errors.New("the test logged no tally")), last(string(out)))
}

// last are the last lines of an output.
func last(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], " | ")
}

func table(results []result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LIBRARY\tUSE\tFAULT\tPROPERTY\tSEEN\tBROKE\t")
	for _, r := range results {
		scenes, news := 0, ""
		if r.Tally != nil {
			scenes = r.Tally.Scenes
		}
		if r.Seen != r.Expected {
			news = "expected: " + r.Expected
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\t%s\t%s\t%d of %d\t%s\n", r.Library, r.Version, r.Use, r.Fault, r.Property, r.Seen, r.Broke, scenes, news)
	}
	return w.Flush()
}

func write(results []result) error {
	if *file == "" {
		return nil
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(*file, append(data, '\n'), 0o644)
}
