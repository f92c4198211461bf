//go:build linux

package preload

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// want compares what a program printed, line by line.
func want(t *testing.T, got string, lines ...string) {
	t.Helper()
	if expected := strings.Join(lines, "\n") + "\n"; got != expected {
		t.Errorf("it printed\n%s\nwant\n%s", got, expected)
	}
}

func refuse(after time.Duration, why Failure) func(Dial) (time.Duration, Failure) {
	return func(Dial) (time.Duration, Failure) { return after, why }
}

func TestAConnectionStandsOrFailsWhenTheNetworkSaysSo(t *testing.T) {
	blocking := compiled(t, `int main() { int fd = dial(0, 6379); char b[9] = ""; write(fd, "hi", 2); read(fd, b, 9); printf("%s at %ld\n", b, ms()); }`)
	w := &world{t: t, serve: echo}
	want(t, w.run(blocking), "connect 0 ok at 1", "hi at 2")

	w = &world{t: t, dial: refuse(30*time.Millisecond, Refused)}
	want(t, w.run(compiled(t, `int main() { dial(0, 6379); }`)), "connect -1 Connection refused at 30")

	w = &world{t: t, dial: refuse(127*time.Second, TimedOut)}
	want(t, w.run(compiled(t, `int main() { dial(0, 6379); }`)), "connect -1 Connection timed out at 127000")
}

func TestAConnectHasItsOwnTimeOut(t *testing.T) {
	w := &world{t: t, dial: refuse(0, never)}
	want(t, w.run(compiled(t, `int main() {
		int fd = dial(SOCK_NONBLOCK, 6379);
		struct pollfd p = {fd, POLLOUT};
		printf("poll %d", poll(&p, 1, 1500)); printf(" at %ld, error %d\n", ms(), bad(fd));
	}`)), "connect -1 Operation now in progress at 0", "poll 0 at 1500, error 0")
}

func TestANonBlockingConnectIsNotWritableBeforeItStands(t *testing.T) {
	program := compiled(t, `int main() {
		int fd = dial(SOCK_NONBLOCK, 6379);
		int ep = epoll_create1(0); struct epoll_event e = {EPOLLOUT}, got; epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
		fd_set w; FD_ZERO(&w); FD_SET(fd, &w); struct timeval zero = {0};
		printf("now: select %d, epoll %d\n", select(fd + 1, 0, &w, 0, &zero), epoll_wait(ep, &got, 1, 0));
		int n = epoll_wait(ep, &got, 1, 5000);
		printf("epoll %d at %ld, error %s\n", n, ms(), strerror(bad(fd)));
		FD_ZERO(&w); FD_SET(fd, &w);
		printf("select %d\n", select(fd + 1, 0, &w, 0, 0));
	}`)
	w := &world{t: t, dial: refuse(20*time.Millisecond, 0)}
	want(t, w.run(program), "connect -1 Operation now in progress at 0", "now: select 0, epoll 0", "epoll 1 at 20, error Success", "select 1")
	w = &world{t: t, dial: refuse(20*time.Millisecond, Refused)}
	want(t, w.run(program), "connect -1 Operation now in progress at 0", "now: select 0, epoll 0", "epoll 1 at 20, error Connection refused", "select 1")
}

func TestAReadTimesOutInVirtualTime(t *testing.T) {
	w := &world{t: t, serve: func(int, string) (time.Duration, string) { return 3 * time.Second, "late" }}
	want(t, w.run(compiled(t, `int main() {
		int fd = dial(0, 6379); char b[9] = "";
		struct timeval t = {1}; setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
		send(fd, "hi", 2, 0);
		int n = recv(fd, b, 9, 0); printf("%d %s at %ld\n", n, strerror(errno), ms());
		t.tv_sec = 5; setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
		n = recv(fd, b, 9, 0); printf("%d %s at %ld\n", n, b, ms());
		n = recv(fd, b, 9, MSG_DONTWAIT); printf("%d %s\n", n, strerror(errno));
	}`)), "connect 0 ok at 1", "-1 Resource temporarily unavailable at 1001", "4 late at 3001", "-1 Resource temporarily unavailable")
}

func TestPollWaitsForSeveralAtOnce(t *testing.T) {
	serve := func(slot int, request string) (time.Duration, string) {
		return time.Duration(3-slot) * 10 * time.Millisecond, request
	}
	w := &world{t: t, serve: serve}
	want(t, w.run(compiled(t, `int main() {
		struct pollfd p[3]; char b[9];
		for (int i = 0; i < 3; i++) { p[i].fd = dial(0, 6379); p[i].events = POLLIN; write(p[i].fd, "x", 1); }
		for (int k = 0; k < 3; k++) {
			int n = poll(p, 3, -1);
			for (int i = 0; i < 3; i++) if (p[i].revents) { printf("%d of %d at %ld\n", i, n, ms()); read(p[i].fd, b, 9); }
		}
		printf("%d at", poll(p, 3, 250)); printf(" %ld\n", ms());
	}`)), "connect 0 ok at 1", "connect 0 ok at 2", "connect 0 ok at 3", "2 of 1 at 13", "1 of 1 at 22", "0 of 1 at 31", "0 at 281")
}

func TestSelectAndEpollWait(t *testing.T) {
	w := &world{t: t, serve: func(int, string) (time.Duration, string) { return 40 * time.Millisecond, "y" }}
	want(t, w.run(compiled(t, `int main() {
		int fd = dial(0, 6379), ep = epoll_create1(0); char b[9];
		struct epoll_event e = {EPOLLIN}, got; epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
		write(fd, "x", 1);
		fd_set r; FD_ZERO(&r); FD_SET(fd, &r); struct timeval t = {0, 15000};
		int n = select(fd + 1, &r, 0, 0, &t); printf("select %d %d at %ld\n", n, !!FD_ISSET(fd, &r), ms());
		n = epoll_wait(ep, &got, 1, 1000); printf("epoll %d at %ld\n", n, ms());
		FD_SET(fd, &r); n = select(fd + 1, &r, 0, 0, 0); printf("select %d %d at %ld\n", n, !!FD_ISSET(fd, &r), ms());
		read(fd, b, 9); n = epoll_wait(ep, &got, 1, 7); printf("epoll %d at %ld\n", n, ms());
	}`)), "connect 0 ok at 1", "select 0 0 at 16", "epoll 1 at 41", "select 1 1 at 41", "epoll 0 at 48")
}

func TestSleepsTakeVirtualTimeOnly(t *testing.T) {
	began := time.Now()
	w := &world{t: t}
	want(t, w.run(compiled(t, `int main() {
		sleep(60); printf("%ld\n", ms()); usleep(1500); printf("%ld\n", ms());
		struct timespec t = {0, 2500000}; nanosleep(&t, 0); printf("%ld\n", ms());
		clock_gettime(CLOCK_MONOTONIC, &t); t.tv_sec += 5; clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0); printf("%ld\n", ms());
		poll(0, 0, 100); printf("%ld\n", ms());
		sem_t s; sem_init(&s, 0, 0); clock_gettime(CLOCK_MONOTONIC, &t); t.tv_sec += 2;
		int r = sem_clockwait(&s, CLOCK_MONOTONIC, &t); printf("%d %ld\n", r, ms());
	}`)), "60000", "60001", "60004", "65004", "65104", "-1 67104")
	if real := time.Since(began); real > 20*time.Second {
		t.Errorf("67 virtual seconds took %v", real)
	}
}

func TestClocksAreTheSchedulers(t *testing.T) {
	skew := func(now time.Duration) time.Duration {
		if now >= 2*time.Second {
			return time.Hour
		}
		return 0
	}
	w := &world{t: t, skew: skew}
	want(t, w.run(compiled(t, `int main() {
		struct timespec t; struct timeval v;
		for (int i = 0; i < 2; i++) {
			clock_gettime(CLOCK_REALTIME, &t); gettimeofday(&v, 0);
			printf("%ld %ld %ld", t.tv_sec - 1767225600, v.tv_sec - 1767225600, time(0) - 1767225600);
			syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t); printf(" %ld\n", t.tv_sec);
			sleep(2);
		}
	}`)), "0 0 0 1000", "3602 3602 3602 1002")
}

func TestALoopThatLooksAtTheClockLetsTimePass(t *testing.T) {
	w := &world{t: t}
	want(t, w.run(compiled(t, `int main() { while (ms() < 20) ; puts("over"); }`)), "over")
}

func TestRandomNumbersComeFromTheSeed(t *testing.T) {
	text := `int main() {
		unsigned a, b, c; getrandom(&a, 4, 0); syscall(SYS_getrandom, &b, 4, 0); getentropy(&c, 4);
		int fd = open("/dev/urandom", O_RDONLY); unsigned d; read(fd, &d, 4);
		char h[64]; gethostname(h, 64);
		printf("%08x %08x %08x %08x %d %s\n", a, b, c, d, getpid(), h);
	}`
	program := compiled(t, text)
	first := (&world{t: t}).run(program)
	if second := (&world{t: t}).run(program); second != first {
		t.Errorf("the same seed gave %q and %q", first, second)
	}
	words := strings.Fields(first)
	if len(words) != 6 || words[4] != "5000003" || words[5] != "worker-3" {
		t.Errorf("pid and host of %q", first)
	}
	w := &world{t: t, p: command(t, Options{Command: []string{program}, Seed: 8})}
	if err := w.play(); err != nil {
		t.Fatal(err)
	}
	if other := w.output.String(); strings.Fields(other)[0] == words[0] {
		t.Errorf("another seed gave %q again", words[0])
	}
}

func TestThreadsThatDoNotMatterPassThrough(t *testing.T) {
	w := &world{t: t, serve: echo}
	want(t, w.run(compiled(t, `
	static void *beside(void *x) { struct timespec t = {0, 1000}; for (int i = 0; i < 10; i++) nanosleep(&t, 0); return "done"; }
	int main() {
		pthread_t t; void *r; pthread_create(&t, 0, beside, 0);
		sleep(1); int fd = dial(0, 6379); char b[9] = ""; write(fd, "hi", 2); read(fd, b, 9);
		pthread_join(t, &r); printf("%s %s at %ld\n", b, (char *)r, ms());
	}`)), "connect 0 ok at 1001", "hi done at 1002")
}

func TestThreadsThatUseTheNetworkAreRefused(t *testing.T) {
	tests := []struct{ name, program, why string }{
		{"a thread connects", `
			static void *beside(void *x) { dial(0, 6379); return 0; }
			int main() { pthread_t t; pthread_create(&t, 0, beside, 0); pthread_join(t, 0); }`,
			"a thread beside the main one connects to a server"},
		{"a thread reads", `
			static int fd; static void *beside(void *x) { char b; read(fd, &b, 1); return 0; }
			int main() { fd = dial(0, 6379); pthread_t t; pthread_create(&t, 0, beside, 0); pthread_join(t, 0); }`,
			"a thread beside the main one uses a connection"},
		{"a forked process connects", `int main() { if (fork() == 0) dial(0, 6379); else for (;;) pause(); }`,
			"a process that it started connects to a server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{t: t, p: command(t, Options{Command: []string{compiled(t, tt.program)}})}
			err := w.play()
			if !errors.Is(err, ErrCannotHold) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestWhatIsSentIsReadEvenIfItIsMuch(t *testing.T) {
	got := 0
	w := &world{t: t, serve: func(_ int, request string) (time.Duration, string) {
		if got += len(request); got == 1<<20 {
			return time.Millisecond, strings.Repeat("z", 1<<20)
		}
		return 0, ""
	}}
	want(t, w.run(compiled(t, `int main() {
		static char b[1 << 20]; int fd = dial(0, 6379);
		for (int i = 0; i < 1 << 20;) i += write(fd, b + i, (1 << 20) - i);
		printf("%ld\n", (long)recv(fd, b, 1 << 20, MSG_WAITALL));
	}`)), "connect 0 ok at 1", "1048576")
}

func TestTheOtherSideHangsUp(t *testing.T) {
	w := &world{t: t}
	w.serve = func(slot int, _ string) (time.Duration, string) {
		w.later(time.Second, func() { w.p.Hangup(slot) })
		return 0, ""
	}
	want(t, w.run(compiled(t, `int main() { int fd = dial(0, 6379); char b; write(fd, "x", 1); int n = read(fd, &b, 1); printf("%d at %ld\n", n, ms()); }`)),
		"connect 0 ok at 1", "0 at 1001")
}

func TestAProgramThatSpinsIsGivenUp(t *testing.T) {
	w := &world{t: t, p: command(t, Options{Command: []string{compiled(t, `int main() { for (volatile long i = 0;; i++) ; }`)}, Limit: 200 * time.Millisecond})}
	if err := w.play(); !errors.Is(err, ErrSilent) {
		t.Errorf("it ended with %v", err)
	}
}

func TestNothingOutlivesTheProgram(t *testing.T) {
	w := &world{t: t, p: command(t, Options{Command: []string{compiled(t, `int main() {
		int p[2]; pipe(p);
		if (fork() == 0) { if (fork() == 0) { setsid(); printf("%ld\n", syscall(SYS_getpid)); fflush(stdout); write(p[1], "x", 1); for (;;) sleep(1); } pause(); }
		char c; struct iovec v = {&c, 1}; syscall(SYS_readv, p[0], &v, 1);
	}`)}})}
	if err := w.play(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(w.output.String()))
	if err != nil {
		t.Fatal(err)
	}
	w.p.Kill()
	// The daemon is told by the kernel, which takes its time.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
			return
		}
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if strings.Contains(string(stat), ") Z ") {
			return // dead, and not yet buried by its new parent
		}
	}
	t.Errorf("process %d lives on", pid)
}

func TestProgramsThatCannotBeHeldAreNamed(t *testing.T) {
	static := compiled(t, `int main() { sleep(1); }`, "-static")
	if err := Check(static); !errors.Is(err, ErrCannotHold) || !strings.Contains(err.Error(), "statically") {
		t.Errorf("a static program: %v", err)
	}
	if err := Check(os.Args[0]); !errors.Is(err, ErrCannotHold) || !strings.Contains(err.Error(), "Go program") {
		t.Errorf("a Go program: %v", err)
	}
	w := &world{t: t, p: command(t, Options{Command: []string{static}, Limit: 300 * time.Millisecond})}
	if err := w.play(); !errors.Is(err, ErrCannotHold) {
		t.Errorf("a static program that was started all the same: %v", err)
	}
	for _, good := range []string{"php", "/usr/bin/python3", "perl", compiled(t, `int main() {}`)} {
		if err := Check(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	if err := Check("no-such-program"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no program: %v", err)
	}
}

func TestStandardInputIsHeldToo(t *testing.T) {
	w := &world{t: t, p: command(t, Options{Command: []string{compiled(t, `int main() { char line[99]; while (fgets(line, 99, stdin)) { printf("%ld %s", ms(), line); fflush(stdout); } puts("end"); }`)}})}
	w.later(time.Second, func() { w.p.Input([]byte("one\n")) })
	w.later(2*time.Second, func() { w.p.Input([]byte("two\n")); w.p.CloseInput() })
	if err := w.play(); err != nil {
		t.Fatal(err)
	}
	want(t, w.output.String(), "1000 one", "2000 two", "end")
}

func TestAShellMayStandBefore(t *testing.T) {
	w := &world{t: t, serve: echo}
	program := compiled(t, `int main() { int fd = dial(0, 6379); sleep(1); printf("%ld\n", ms()); }`)
	want(t, w.run("/bin/sh", "-c", "exec "+program), "connect 0 ok at 1", "1001")
}
