//go:build linux

package preload

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// epoch is the wall clock at the start of every test, and boot what the
// monotonic clock shows then.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const boot = 1000 * time.Second

// world is a network of one server for one program.
type world struct {
	t   *testing.T
	p   *Process
	now time.Duration
	due []event

	// dial says what becomes of a connection, and when; nil: all stand after 1 ms.
	dial func(Dial) (after time.Duration, why Failure)
	// serve answers what came on a connection; "" is no answer.
	serve func(slot int, request string) (after time.Duration, reply string)
	// skew moves the wall clock.
	skew func(now time.Duration) time.Duration

	output strings.Builder
	status string
}

type event struct {
	at time.Duration
	do func()
}

// never is a failure that does not come: the other side is silent.
const never Failure = 255

// command makes a process of a program.
func command(t *testing.T, o Options) *Process {
	t.Helper()
	library, err := Library(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if o.Limit == 0 {
		o.Limit = 20 * time.Second
	}
	o.Clock = Clock{Mono: boot, Wall: epoch}
	p, err := Start(library, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// run plays the program to its end, and answers what it printed.
func (w *world) run(words ...string) string {
	w.t.Helper()
	w.p = command(w.t, Options{Command: words, Seed: 7, Hostname: "worker-3", PID: 5000003})
	if err := w.play(); err != nil {
		w.t.Fatalf("%v\n%s", err, w.p.Log())
	}
	if log := string(w.p.Log()); log != "" {
		w.t.Errorf("it says: %s", log)
	}
	if w.status != "exit status 0" {
		w.t.Errorf("it ended with %s", w.status)
	}
	return w.output.String()
}

func (w *world) play() error {
	for steps := 0; ; steps++ {
		wall := w.now
		if w.skew != nil {
			wall += w.skew(w.now)
		}
		r, err := w.p.Step(Clock{Mono: boot + w.now, Wall: epoch.Add(wall)})
		if err != nil {
			return err
		}
		w.output.Write(r.Output)
		w.take(r)
		if r.Ended {
			w.status = r.Status
			return nil
		}
		next := time.Hour
		if r.Until != Forever {
			next = r.Until - boot
		}
		if len(w.due) > 0 && w.due[0].at <= next {
			e := w.due[0]
			w.due = w.due[1:]
			w.now = max(w.now, e.at)
			e.do()
			continue
		}
		if next == time.Hour || steps > 10000 {
			w.t.Fatalf("nothing will wake it, after %d steps; it printed %q", steps, w.output.String())
		}
		w.now = max(w.now, next)
	}
}

func (w *world) take(r Report) {
	for _, d := range r.Dials {
		after, why := time.Millisecond, Failure(0)
		if w.dial != nil {
			after, why = w.dial(d)
		}
		switch why {
		case 0:
			w.later(after, func() { w.p.Connect(d.Slot) })
		case never:
		default:
			w.later(after, func() { w.p.Fail(d.Slot, why) })
		}
	}
	for _, s := range r.Sent {
		if w.serve == nil || len(s.Bytes) == 0 {
			continue
		}
		if after, reply := w.serve(s.Slot, string(s.Bytes)); reply != "" {
			w.later(after, func() { w.p.Deliver(s.Slot, []byte(reply)) })
		}
	}
}

func (w *world) later(d time.Duration, do func()) {
	at := w.now + d
	i := len(w.due)
	for i > 0 && w.due[i-1].at > at {
		i--
	}
	w.due = slices.Insert(w.due, i, event{at, do})
}

// echo answers each request with itself after 1 ms.
func echo(_ int, request string) (time.Duration, string) { return time.Millisecond, request }

// script writes a program to a file.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// compiled builds a C program. What most of them need stands before it.
func compiled(t *testing.T, text string, flags ...string) string {
	t.Helper()
	const head = `#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
static long ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (t.tv_sec - 1000) * 1000 + t.tv_nsec / 1000000; }
static int dial(int flags, int port) {
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	inet_pton(AF_INET, "10.8.0.1", &a.sin_addr);
	int r = connect(fd, (void *)&a, sizeof a);
	printf("connect %d %s at %ld\n", r, r ? strerror(errno) : "ok", ms());
	fflush(stdout);
	return fd;
}
static int bad(int fd) { int e = -1; socklen_t n = sizeof e; getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n); return e; }
`
	source := script(t, "program.c", head+text)
	out := filepath.Join(filepath.Dir(source), "program")
	args := append([]string{"-w", "-O1", "-o", out, source, "-lpthread"}, flags...)
	if answer, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, answer)
	}
	return out
}
