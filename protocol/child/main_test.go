//go:build unix

package child_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// behaviour is the environment variable that makes the test program a child.
const behaviour = "LOCKCHECK_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(behaviour); name != "" {
		behaviours[name]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// behaviours are the children of these tests: an honest one and twelve that
// are not.
var behaviours = map[string]func(){
	"honest": func() { serve(honest) },
	"steps": func() {
		serve(func(id int64, do string) {
			say(`{"step":"before-%s","id":%d}`, do, id)
			fmt.Fprintln(os.Stderr, "told:", next())
			honest(id, do)
		})
	},
	"leaves a daemon": func() {
		start(&syscall.SysProcAttr{Setsid: true}, "sleep", "1000")
		serve(honest)
	},
	"endless line": func() {
		greet()
		next()
		for {
			fmt.Print("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
		}
	},
	"a hundred megabytes": func() {
		greet()
		next()
		say(`{"id":1,"ok":true,"token":"%s"}`, strings.Repeat("b", 100<<20))
		next()
	},
	"closes stdin": func() {
		next()
		_ = os.Stdin.Close()
		say(`{"ready":"test 1"}`)
		time.Sleep(time.Hour)
	},
	"daemonises": func() {
		start(&syscall.SysProcAttr{Setsid: true}, "sleep", "1000")
		start(&syscall.SysProcAttr{}, "sleep", "1001")
	},
	"ignores SIGTERM": func() {
		signal.Ignore(syscall.SIGTERM)
		serve(honest)
		time.Sleep(time.Hour)
	},
	"answers twice":      func() { serve(func(id int64, do string) { honest(id, do); honest(id, do) }) },
	"answers the future": func() { serve(func(id int64, do string) { honest(id+1, do) }) },
	"lies about valid_ms": func() {
		serve(func(id int64, _ string) { say(`{"id":%d,"ok":true,"valid_ms":999999999}`, id) })
	},
	"prints prose": func() {
		serve(func(int64, string) { say("PHP Warning:  Undefined variable $lock in lock.php on line 7") })
	},
	"dies at once": func() {
		fmt.Fprintln(os.Stderr, "cannot find the class Redis")
		os.Exit(3)
	},
	"never ready": func() { next(); next() },
	"spins": func() {
		greet()
		next()
		for {
			_ = 0
		}
	},
}

var stdin = bufio.NewReader(os.Stdin)

func next() string {
	text, err := stdin.ReadString('\n')
	if err != nil {
		return ""
	}
	return text
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func greet() {
	next()
	say(`{"ready":"test 1","can":["extend","step"]}`)
}

func serve(answer func(id int64, do string)) {
	greet()
	for {
		var r struct {
			ID int64
			Do string
		}
		if json.Unmarshal([]byte(next()), &r) != nil {
			return
		}
		answer(r.ID, r.Do)
	}
}

func honest(id int64, do string) {
	if do == "extend" {
		say(`{"id":%d,"gone":true}`, id)
		return
	}
	say(`{"id":%d,"ok":true,"token":"t%d","valid_ms":4000}`, id, id)
}

func start(how *syscall.SysProcAttr, program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr, cmd.Stdout = how, os.Stdout
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}
