package workload

import (
	"regexp"
	"strings"
	"sync"

	"github.com/lockcheck/lockcheck/workload/env"
	"github.com/lockcheck/lockcheck/workload/lock"
)

// LockFlags are the settings of a lock that only some designs look at.
var LockFlags = []string{"retries", "retry-delay", "jitter", "wait", "renew", "drift", "nodes", "acks", "ack-wait", "lock-key", "persistence", "max-hold", "max-zombie"}

// Heeds reports whether the design looks at the setting of that name. A user
// who sets what is not looked at believes that something has changed.
func (d Design) Heeds(flag string) bool {
	switch flag {
	case "nodes":
		return d.Topology.Lock == env.Independent5
	case "persistence":
		return d.Topology.Lock != ""
	case "lock-key", "max-hold", "max-zombie":
		return d.Lock != nil
	}
	uses, lockFlag := usesOf[flag]
	if !lockFlag || d.Lock == nil {
		return !lockFlag
	}
	return len(d.docs) == 0 || uses.MatchString(lockCode(d.docs[0])) // a lock of another module may look at anything
}

// usesOf are the places of a lock's source that look at a setting: by name, or
// through one of the two loops that wait for a busy lock.
var usesOf = map[string]*regexp.Regexp{
	"retries":     regexp.MustCompile(`\bcounted\(|\.Retries\b`),
	"retry-delay": regexp.MustCompile(`\b(counted|polled)\(|\.RetryDelay\b`),
	"jitter":      regexp.MustCompile(`\b(counted|polled)\(|\.Jitter\b`),
	"wait":        regexp.MustCompile(`\bpolled\(|\.Wait\b`),
	"renew":       regexp.MustCompile(`\.Renew\b`),
	"drift":       regexp.MustCompile(`\.Drift\b`),
	"acks":        regexp.MustCompile(`\.Acks\b`),
	"ack-wait":    regexp.MustCompile(`\.AckWait\b`),
}

// lockCode is the source of a lock, and of the locks that it is made of.
func lockCode(name string) string {
	codeMu.Lock()
	defer codeMu.Unlock()
	if codeOf[name] == "" {
		codeOf[name] = readLock(name, map[string]bool{})
	}
	return codeOf[name]
}

var (
	codeMu sync.Mutex
	codeOf = map[string]string{}
)

var makesAnother = regexp.MustCompile(`\bNew([A-Z]\w+)\(`)

func readLock(name string, seen map[string]bool) string {
	seen[name] = true
	data, err := lock.Source.ReadFile(strings.ToLower(name) + ".go")
	if err != nil {
		return ""
	}
	code := string(data)
	for _, m := range makesAnother.FindAllStringSubmatch(code, -1) {
		if !seen[m[1]] {
			code += readLock(m[1], seen)
		}
	}
	return code
}
