package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lockcheck/lockcheck/internal/strictjson"
	"github.com/lockcheck/lockcheck/workload"
)

// claimWords are the promises of one nemesis in a file of claims. A word that is
// left out is "may break".
type claimWords struct {
	Lock     string `json:"lock"`
	Use      string `json:"use"`
	Business string `json:"business"`
}

// readClaims reads what a program of one's own claims, from a file:
//
//	{"none": {"lock": "holds", "use": "holds", "business": "holds"}, "failover": {"lock": "breaks"}}
func readClaims(file string) (map[string]workload.Claim, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError{trimPath(err)}
	}
	var said map[string]claimWords
	if _, err := strictjson.Unmarshal(data, &said); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", file, err)}
	}
	if len(said) == 0 {
		return nil, usagef("%s: it claims nothing", file)
	}
	claims := map[string]workload.Claim{}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if !slices.Contains(workload.Nemeses, name) {
			return nil, usageError{fmt.Errorf("%s: %w", file, unknownName("nemesis", name, workload.Nemeses))}
		}
		words, c := said[name], workload.Claim{}
		for level, p := range map[string]struct {
			word string
			into *workload.Promise
		}{"lock": {words.Lock, &c.Lock}, "use": {words.Use, &c.Use}, "business": {words.Business, &c.Business}} {
			if *p.into, err = promise(p.word); err != nil {
				return nil, usageError{fmt.Errorf("%s: %s.%s: %w", file, name, level, err)}
			}
		}
		claims[name] = c
	}
	return claims, nil
}

func promise(word string) (workload.Promise, error) {
	var words []string
	for _, p := range []workload.Promise{workload.MayBreak, workload.Holds, workload.Breaks} {
		if word == p.String() || word == "" {
			return p, nil
		}
		words = append(words, p.String())
	}
	return 0, fmt.Errorf("%q: want %s", word, strings.Join(words, ", "))
}
