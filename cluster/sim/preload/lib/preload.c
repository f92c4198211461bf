/*
 * preload.c holds a program in virtual time.
 *
 * It is loaded by LD_PRELOAD into a program that knows nothing of it, and
 * takes over what blocks, what tells the time and what is random. Everything
 * that would block first tries without blocking; if there is nothing, it tells
 * lockcheck on a control socket "blocked until T" and waits for one byte.
 * The clocks are a page that lockcheck writes before it sends that byte: no
 * time passes while the program computes. connect() to an internet address
 * makes a Unix socket pair whose other end goes to lockcheck.
 *
 * Only the main thread of the program itself is held. Other threads and forked
 * processes pass through, until they use the network: then the program cannot
 * be held, and lockcheck is told why.
 *
 * A connection that is being made is a socket pair whose buffer is full, so
 * that poll, select and epoll find it not yet writable by themselves.
 * lockcheck empties the buffer when the connection stands, and closes its end
 * when it is refused.
 *
 * What passes through: timers by signal (alarm, setitimer, timer_create),
 * timerfd, and whatever a program asks the kernel for by itself (Go, static
 * programs).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

enum { SLOTS = 32768, FDS = 4096, FOREVER = -1, HIGH = 200 };
enum { NONE, CONNECTING, CONNECTED, REFUSED, TIMED_OUT, UNREACHABLE };

/* page is shared with lockcheck; page_linux.go has the same. */
struct page {
	volatile int64_t mono, wall; /* in ns */
	volatile uint64_t seed, drawn;
	volatile int32_t owner; /* pid of the held program */
	volatile int32_t pid;   /* that it is told it has */
	volatile uint32_t slots; /* used so far */
	volatile uint32_t local; /* its address, in network order */
	char hostname[64];
	volatile uint8_t state[SLOTS];
};

/* message is what the control socket carries; page_linux.go has the same. */
struct message {
	int64_t until;
	uint32_t slot;
	uint32_t junk; /* bytes that fill the buffer of a new connection */
	uint16_t port; /* in host order */
	uint8_t kind;  /* 'H'ello, 'B'locked, 'C'onnect, 'R'efuse */
	uint8_t drain; /* it also waits until it may write */
	char text[108]; /* address, or what is refused */
};

static int control = -1;
static struct page *page;
static __thread int held; /* this is the main thread of the held program */
static int inside;        /* the library is loaded into a held program, or a child of it */

/* file is what the library knows of a descriptor. */
static struct file {
	uint32_t slot; /* + 1; 0: no connection of ours */
	char random;   /* /dev/urandom */
	char told;     /* its error has been told */
	int64_t receive, send; /* time-outs in ns; 0: none */
	uint16_t port;
	uint8_t address[4];
} files[FDS];

static uint32_t pending[64]; /* descriptors whose connection is being made */
static int pendings;

/* ---- system calls that go past all hooks ---- */

static long raw(long n, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#else
#error "lockcheck holds programs on x86-64 and arm64"
#endif
}

#define RAW6(n, a, b, c, d, e, f, ...) raw((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define RAW(...) RAW6(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define PASS(...) answer(RAW(__VA_ARGS__))

static long answer(long r) {
	if (r < 0 && r > -4096) {
		errno = -r;
		return -1;
	}
	return r;
}

/* ---- talking to lockcheck ---- */

static void tell(struct message *m, int fd) {
	struct iovec io = {m, sizeof *m};
	struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u;
	if (fd >= 0) {
		h.msg_control = u.space;
		h.msg_controllen = sizeof u.space;
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	long r;
	while ((r = RAW(SYS_sendmsg, control, &h, MSG_NOSIGNAL)) == -EINTR)
		;
	if (r < 0) /* lockcheck is gone */
		RAW(SYS_exit_group, 125);
}

/* refuse says why the program cannot be held, and waits to be killed. */
static void refuse(const char *why) {
	struct message m = {.kind = 'R'};
	snprintf(m.text, sizeof m.text, "%s", why);
	tell(&m, -1);
	for (;;)
		RAW(SYS_ppoll, 0, 0, 0, 0, 0);
}

static void settle(void);

/* block lets virtual time pass until `until`, or until something happened. */
static void block(int64_t until, int drain) {
	struct message m = {.kind = 'B', .until = until, .drain = drain};
	tell(&m, -1);
	char go;
	long r;
	while ((r = RAW(SYS_read, control, &go, 1)) == -EINTR)
		;
	if (r != 1)
		RAW(SYS_exit_group, 125);
	if (pendings)
		settle();
}

/* A program that looks at the clock in a loop would never let time pass. */
static int busy;

static void turn(void) {
	if (++busy >= 2000) {
		busy = 0;
		block(page->mono + 50000, 0);
	}
}

static int64_t after(int64_t ns) { return ns > INT64_MAX - page->mono ? FOREVER : page->mono + (ns > 0 ? ns : 0); }

static int64_t nanoseconds(const struct timespec *t) {
	if (t->tv_sec > INT64_MAX / 1000000000 - 1)
		return INT64_MAX;
	return t->tv_sec * 1000000000LL + t->tv_nsec;
}

/* ---- descriptors ---- */

static struct file *known(int fd) { return fd >= 0 && fd < FDS && files[fd].slot ? &files[fd] : 0; }

static int state(struct file *f) { return page->state[f->slot - 1]; }

static void forget(int fd) {
	if (fd < 0 || fd >= FDS)
		return;
	memset(&files[fd], 0, sizeof files[fd]);
	for (int i = 0; i < pendings; i++)
		if (pending[i] == (uint32_t)fd)
			pending[i--] = pending[--pendings];
}

/* settle gives connections that stand now a buffer of ordinary size. */
static void settle(void) {
	for (int i = 0; i < pendings; i++) {
		struct file *f = known(pending[i]);
		if (f && state(f) == CONNECTING)
			continue;
		int size = 106496;
		if (f && state(f) == CONNECTED)
			RAW(SYS_setsockopt, pending[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
		pending[i--] = pending[--pendings];
	}
}

static int readable(int fd) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timespec zero = {0, 0};
	return RAW(SYS_ppoll, &p, 1, &zero, 0, 8) != 0;
}

/* mine tells the held program from what it has forked by vfork, which still
   shares its memory. */
static int mine(void) { return held && RAW(SYS_getpid) == page->owner; }

static int nonblocking(int fd) { return RAW(SYS_fcntl, fd, F_GETFL, 0) & O_NONBLOCK; }

/* ready waits until fd can be read; false: it is to answer EAGAIN. */
static int ready(int fd, int flags) {
	struct file *f = fd >= 0 && fd < FDS ? &files[fd] : 0;
	int64_t until = f && f->receive ? after(f->receive) : FOREVER;
	while (!readable(fd)) {
		if ((flags & MSG_DONTWAIT) || nonblocking(fd)) {
			turn();
			return 0;
		}
		if (until != FOREVER && page->mono >= until)
			return 0;
		block(until, 0);
	}
	busy = 0;
	return 1;
}

/* ours is asked before each use of a connection: one thread may. */
static void ours(int fd) {
	if (!held && inside && known(fd))
		refuse("a thread beside the main one uses a connection");
}

/* ---- reading ---- */

static uint64_t mix(uint64_t z) {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void randomly(void *to, size_t n) {
	unsigned char *p = to;
	while (n) {
		uint64_t r = mix(page->seed + ++page->drawn * 0x9e3779b97f4a7c15ULL);
		size_t k = n < 8 ? n : 8;
		memcpy(p, &r, k);
		p += k;
		n -= k;
	}
}

EXPORT ssize_t read(int fd, void *buf, size_t n) {
	ours(fd);
	if (held && fd >= 0 && fd < FDS && files[fd].random) {
		randomly(buf, n);
		return n;
	}
	if (held && n && !ready(fd, 0)) {
		errno = EAGAIN;
		return -1;
	}
	return PASS(SYS_read, fd, buf, n);
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room) {
	if (n > room)
		abort();
	return read(fd, buf, n);
}

EXPORT ssize_t readv(int fd, const struct iovec *v, int n) {
	ours(fd);
	if (held && n && !ready(fd, 0)) {
		errno = EAGAIN;
		return -1;
	}
	return PASS(SYS_readv, fd, v, n);
}

EXPORT ssize_t recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *from, socklen_t *len) {
	ours(fd);
	if (held && !ready(fd, flags)) {
		errno = EAGAIN;
		return -1;
	}
	ssize_t got, all = 0;
	do { /* MSG_WAITALL may have to wait again */
		got = RAW(SYS_recvfrom, fd, (char *)buf + all, n - all, held ? flags & ~MSG_WAITALL : flags, from, len);
		if (got > 0)
			all += got;
	} while (held && (flags & MSG_WAITALL) && got > 0 && (size_t)all < n && ready(fd, flags));
	return all ? all : answer(got);
}

EXPORT ssize_t recv(int fd, void *buf, size_t n, int flags) { return recvfrom(fd, buf, n, flags, 0, 0); }

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags) {
	if (n > room)
		abort();
	return recv(fd, buf, n, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags, struct sockaddr *from, socklen_t *len) {
	if (n > room)
		abort();
	return recvfrom(fd, buf, n, flags, from, len);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags) {
	ours(fd);
	if (held && !ready(fd, flags)) {
		errno = EAGAIN;
		return -1;
	}
	return PASS(SYS_recvmsg, fd, m, flags);
}

/* ---- connections ---- */

/* stuff fills the buffer of a new pair until it cannot be written. */
static uint32_t stuff(int fd) {
	int least = 1;
	uint32_t n = 0;
	struct timespec zero = {0, 0};
	RAW(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		if (RAW(SYS_ppoll, &p, 1, &zero, 0, 8) == 0 || n == 4096)
			return n;
		if (RAW(SYS_sendto, fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0) != 1)
			return n;
		n++;
	}
}

/* ended is how an attempt to connect ended. */
static int ended(struct file *f) {
	switch (state(f)) {
	case CONNECTED:
		return 0;
	case REFUSED:
		return ECONNREFUSED;
	case UNREACHABLE:
		return EHOSTUNREACH;
	case TIMED_OUT:
		return ETIMEDOUT;
	}
	return EINPROGRESS;
}

static int await(struct file *f) {
	int64_t until = f->send ? after(f->send) : FOREVER;
	while (state(f) == CONNECTING && (until == FOREVER || page->mono < until))
		block(until, 0);
	int bad = ended(f);
	f->told = 1;
	errno = bad;
	return bad ? -1 : 0;
}

/* begin replaces the socket by one end of a pair; the other goes to lockcheck. */
static int begin(int fd, const char *host, uint16_t port) {
	int pair[2];
	if (page->slots >= SLOTS)
		refuse("it opens more than 32768 connections");
	int flags = RAW(SYS_fcntl, fd, F_GETFL, 0), cloexec = RAW(SYS_fcntl, fd, F_GETFD, 0);
	long r = RAW(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
	if (r < 0)
		return answer(r);
	struct message m = {.kind = 'C', .slot = page->slots++, .port = port, .junk = stuff(pair[0])};
	snprintf(m.text, sizeof m.text, "%s", host);
	page->state[m.slot] = CONNECTING;
	tell(&m, pair[1]);
	RAW(SYS_fcntl, pair[0], F_SETFL, flags & O_NONBLOCK);
	RAW(SYS_dup3, pair[0], fd, cloexec & FD_CLOEXEC ? O_CLOEXEC : 0);
	RAW(SYS_close, pair[0]);
	RAW(SYS_close, pair[1]);
	files[fd].slot = m.slot + 1;
	files[fd].port = port;
	inet_pton(AF_INET, host, files[fd].address);
	if (pendings < 64)
		pending[pendings++] = fd;
	if (!(flags & O_NONBLOCK))
		return await(&files[fd]);
	errno = EINPROGRESS;
	return -1;
}

EXPORT int connect(int fd, const struct sockaddr *to, socklen_t len) {
	if (!inside || !to || len < sizeof(sa_family_t) || (to->sa_family != AF_INET && to->sa_family != AF_INET6))
		return PASS(SYS_connect, fd, to, len);
	int type = 0, domain = 0;
	socklen_t size = sizeof type;
	RAW(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size);
	RAW(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	if (type != SOCK_STREAM)
		return PASS(SYS_connect, fd, to, len);
	if (!held)
		refuse(RAW(SYS_getpid) == page->owner ? "a thread beside the main one connects to a server"
						       : "a process that it started connects to a server");
	if (domain != AF_UNIX && known(fd))
		forget(fd); /* its number was given again, unseen */
	struct file *f = known(fd);
	if (f && state(f) == CONNECTING && !nonblocking(fd))
		return await(f);
	if (f) {
		int bad = ended(f);
		errno = bad == 0 ? EISCONN : bad == EINPROGRESS ? EALREADY : bad;
		return -1;
	}
	if (fd < 0 || fd >= FDS)
		refuse("it has more than 4096 descriptors");
	char host[INET6_ADDRSTRLEN];
	uint16_t port;
	if (to->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)to;
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		port = ntohs(in->sin_port);
	} else {
		const struct sockaddr_in6 *in = (const void *)to;
		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
		port = ntohs(in->sin6_port);
		if (IN6_IS_ADDR_V4MAPPED(&in->sin6_addr))
			memmove(host, strrchr(host, ':') + 1, strlen(strrchr(host, ':')));
	}
	return begin(fd, host, port);
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t len) {
	struct file *f = known(fd);
	if (held && fd >= 0 && fd < FDS && level == SOL_SOCKET && len >= sizeof(struct timeval) &&
		(name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
		const struct timeval *t = value;
		int64_t ns = t->tv_sec * 1000000000LL + t->tv_usec * 1000LL;
		*(name == SO_RCVTIMEO ? &files[fd].receive : &files[fd].send) = ns;
	}
	if (f && (level != SOL_SOCKET || name == SO_SNDBUF || name == SO_RCVBUF))
		return 0;
	return PASS(SYS_setsockopt, fd, level, name, value, len);
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *len) {
	struct file *f = known(fd);
	int n = 0, special = f && value && len && *len >= sizeof(int);
	if (special && level == SOL_SOCKET && name == SO_ERROR) {
		long r = RAW(SYS_getsockopt, fd, level, name, value, len);
		n = ended(f);
		if (n == 0 || n == EINPROGRESS || f->told)
			return answer(r);
		f->told = 1;
	} else if (special && level == SOL_SOCKET && name == SO_DOMAIN) {
		n = AF_INET;
	} else if (special && level == SOL_SOCKET && name == SO_PROTOCOL) {
		n = IPPROTO_TCP;
	} else if (!special || level == SOL_SOCKET) {
		return PASS(SYS_getsockopt, fd, level, name, value, len);
	}
	memcpy(value, &n, sizeof n);
	*len = sizeof n;
	return 0;
}

static int address(struct sockaddr *to, socklen_t *len, const void *ip, uint16_t port) {
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	memcpy(&in.sin_addr, ip, 4);
	memcpy(to, &in, *len < sizeof in ? *len : sizeof in);
	*len = sizeof in;
	return 0;
}

EXPORT int getpeername(int fd, struct sockaddr *to, socklen_t *len) {
	struct file *f = known(fd);
	if (!f)
		return PASS(SYS_getpeername, fd, to, len);
	if (state(f) != CONNECTED) {
		errno = ENOTCONN;
		return -1;
	}
	return address(to, len, f->address, f->port);
}

EXPORT int getsockname(int fd, struct sockaddr *to, socklen_t *len) {
	struct file *f = known(fd);
	if (!f)
		return PASS(SYS_getsockname, fd, to, len);
	uint32_t local = page->local;
	return address(to, len, &local, 32768 + (f->slot - 1) % 28000);
}

EXPORT int close(int fd) {
	if (mine()) {
		if (fd == control)
			return 0;
		forget(fd);
	}
	return PASS(SYS_close, fd);
}

static int copy(int from, int to) {
	if (to >= 0 && to < FDS && from != to && mine()) {
		forget(to);
		if (from >= 0 && from < FDS)
			files[to] = files[from];
	}
	return to;
}

EXPORT int dup(int fd) { return copy(fd, PASS(SYS_dup, fd)); }

EXPORT int dup3(int from, int to, int flags) {
	if (inside && to == control && mine()) {
		errno = EBUSY;
		return -1;
	}
	return copy(from, PASS(SYS_dup3, from, to, flags));
}

EXPORT int dup2(int from, int to) {
	if (from == to)
		return RAW(SYS_fcntl, from, F_GETFD, 0) < 0 ? (errno = EBADF, -1) : to;
	return dup3(from, to, 0);
}

static int control_file(int fd, int cmd, long arg) {
	int r = PASS(SYS_fcntl, fd, cmd, arg);
	return cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC ? copy(fd, r) : r;
}

EXPORT int fcntl(int fd, int cmd, ...) {
	va_list ap;
	va_start(ap, cmd);
	long arg = va_arg(ap, long);
	va_end(ap);
	return control_file(fd, cmd, arg);
}

EXPORT int fcntl64(int fd, int cmd, ...) {
	va_list ap;
	va_start(ap, cmd);
	long arg = va_arg(ap, long);
	va_end(ap);
	return control_file(fd, cmd, arg);
}

/* ---- waiting for several descriptors ---- */

/* LOOP tries until TRY answers something, or the time is up. */
#define LOOP(TRY, NS, DRAIN)                                                  \
	int64_t ns_ = (NS), until_ = ns_ < 0 ? FOREVER : after(ns_);          \
	int drain_ = (DRAIN);                                                 \
	long r_;                                                              \
	while ((r_ = (TRY)) == 0) {                                           \
		if (ns_ == 0) {                                               \
			turn();                                               \
			break;                                                \
		}                                                             \
		if (until_ != FOREVER && page->mono >= until_)                \
			break;                                                \
		block(until_, drain_);                                        \
		drain_ = 0;                                                   \
	}                                                                     \
	if (r_ > 0)                                                           \
		busy = 0;                                                     \
	return answer(r_)

static int writes(const struct pollfd *p, nfds_t n) {
	for (nfds_t i = 0; i < n; i++)
		if (p[i].events & POLLOUT)
			return 1;
	return 0;
}

static int polled(struct pollfd *p, nfds_t n, int64_t ns, const sigset_t *mask) {
	struct timespec zero = {0, 0};
	LOOP(({ zero = (struct timespec){0, 0}; RAW(SYS_ppoll, p, n, &zero, mask, 8); }), ns, writes(p, n));
}

EXPORT int poll(struct pollfd *p, nfds_t n, int ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	if (!held)
		return PASS(SYS_ppoll, p, n, ms < 0 ? 0 : &t, 0, 8);
	return polled(p, n, ms < 0 ? -1 : ms * 1000000LL, 0);
}

EXPORT int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t room) {
	if (room / sizeof *p < n)
		abort();
	return poll(p, n, ms);
}

EXPORT int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask) {
	struct timespec copy;
	if (!held) {
		if (t)
			copy = *t;
		return PASS(SYS_ppoll, p, n, t ? &copy : 0, mask, 8);
	}
	return polled(p, n, t ? nanoseconds(t) : -1, mask);
}

EXPORT int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t room) {
	if (room / sizeof *p < n)
		abort();
	return ppoll(p, n, t, mask);
}

static long look(int n, fd_set *in[3], fd_set *out[3]) {
	struct timespec zero = {0, 0};
	size_t bytes = (n + 63) / 64 * 8;
	fd_set at[3];
	for (int i = 0; i < 3; i++)
		if (in[i])
			memcpy(&at[i], in[i], bytes);
	long r = RAW(SYS_pselect6, n, in[0] ? &at[0] : 0, in[1] ? &at[1] : 0, in[2] ? &at[2] : 0, &zero, 0);
	if (r >= 0)
		for (int i = 0; i < 3; i++)
			if (out[i])
				memcpy(out[i], &at[i], bytes);
	return r;
}

static int selected(int n, fd_set *r, fd_set *w, fd_set *e, int64_t ns) {
	fd_set wanted[3];
	fd_set *out[3] = {r, w, e}, *in[3];
	if (n < 0 || n > FD_SETSIZE) {
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; i < 3; i++) {
		in[i] = out[i] ? &wanted[i] : 0;
		if (out[i])
			memcpy(&wanted[i], out[i], (n + 63) / 64 * 8);
	}
	LOOP(look(n, in, out), ns, w != 0);
}

EXPORT int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t) {
	if (!held) {
		struct timespec copy;
		if (t)
			copy = (struct timespec){t->tv_sec, t->tv_usec * 1000};
		return PASS(SYS_pselect6, n, r, w, e, t ? &copy : 0, 0);
	}
	return selected(n, r, w, e, t ? t->tv_sec * 1000000000LL + t->tv_usec * 1000LL : -1);
}

EXPORT int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const sigset_t *mask) {
	if (!held) {
		struct timespec copy;
		struct {
			const sigset_t *set;
			size_t size;
		} m = {mask, 8};
		if (t)
			copy = *t;
		return PASS(SYS_pselect6, n, r, w, e, t ? &copy : 0, &m);
	}
	return selected(n, r, w, e, t ? nanoseconds(t) : -1);
}

EXPORT int epoll_pwait(int ep, struct epoll_event *e, int n, int ms, const sigset_t *mask) {
	if (!held)
		return PASS(SYS_epoll_pwait, ep, e, n, ms, mask, 8);
	LOOP(RAW(SYS_epoll_pwait, ep, e, n, 0, mask, 8), ms < 0 ? -1 : ms * 1000000LL, 1);
}

EXPORT int epoll_wait(int ep, struct epoll_event *e, int n, int ms) { return epoll_pwait(ep, e, n, ms, 0); }

EXPORT int epoll_pwait2(int ep, struct epoll_event *e, int n, const struct timespec *t, const sigset_t *mask) {
	if (!held)
		return PASS(441, ep, e, n, t, mask, 8);
	LOOP(RAW(SYS_epoll_pwait, ep, e, n, 0, mask, 8), t ? nanoseconds(t) : -1, 1);
}

/* ---- sleeping ---- */

static int slept(int64_t until) {
	do
		block(until, 0);
	while (page->mono < until);
	busy = 0;
	return 0;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *left) {
	if (!held)
		return PASS(SYS_nanosleep, t, left);
	return slept(after(nanoseconds(t)));
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
	if (!held)
		return -RAW(SYS_clock_nanosleep, clock, flags, t, left);
	int64_t ns = nanoseconds(t);
	if (flags & TIMER_ABSTIME)
		ns -= clock == CLOCK_REALTIME ? page->wall : page->mono;
	return slept(after(ns));
}

EXPORT int usleep(useconds_t us) {
	struct timespec t = {us / 1000000, us % 1000000 * 1000};
	return nanosleep(&t, 0);
}

EXPORT unsigned sleep(unsigned s) {
	struct timespec t = {s, 0};
	return nanosleep(&t, 0) ? s : 0;
}

EXPORT int sched_yield(void) {
	if (held)
		turn();
	return PASS(SYS_sched_yield);
}

/* A main thread that waits for another with a limit has its limit in virtual
   time: for many programs it is just another way to sleep. */

static int64_t moment(clockid_t clock, const struct timespec *t) {
	return after(nanoseconds(t) - (clock == CLOCK_REALTIME ? page->wall : page->mono));
}

EXPORT int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t) {
	if (!held) {
		static int (*next)(sem_t *, clockid_t, const struct timespec *);
		if (!next)
			next = dlsym(RTLD_NEXT, "sem_clockwait");
		return next(s, clock, t);
	}
	if (sem_trywait(s) == 0)
		return 0;
	slept(moment(clock, t));
	if (sem_trywait(s) == 0)
		return 0;
	errno = ETIMEDOUT;
	return -1;
}

EXPORT int sem_timedwait(sem_t *s, const struct timespec *t) {
	if (!held) {
		static int (*next)(sem_t *, const struct timespec *);
		if (!next)
			next = dlsym(RTLD_NEXT, "sem_timedwait");
		return next(s, t);
	}
	return sem_clockwait(s, CLOCK_REALTIME, t);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *t) {
	if (!held) {
		static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
		if (!next)
			next = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
		return next(c, m, clock, t);
	}
	pthread_mutex_unlock(m);
	slept(moment(clock, t));
	pthread_mutex_lock(m);
	return ETIMEDOUT;
}

/* ---- clocks ---- */

EXPORT int clock_gettime(clockid_t clock, struct timespec *t) {
	if (!held)
		return PASS(SYS_clock_gettime, clock, t);
	turn();
	int wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
	int64_t ns = wall ? page->wall : page->mono;
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

EXPORT int gettimeofday(struct timeval *t, void *zone) {
	struct timespec now;
	int r = clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	if (zone)
		memset(zone, 0, sizeof(struct timezone));
	return r;
}

EXPORT time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *t, int base) {
	return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, t) == 0 ? base : 0;
}

EXPORT clock_t clock(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}

/* ---- random numbers, and who one is ---- */

EXPORT ssize_t getrandom(void *buf, size_t n, unsigned flags) {
	if (!held)
		return PASS(SYS_getrandom, buf, n, flags);
	randomly(buf, n);
	return n;
}

EXPORT int getentropy(void *buf, size_t n) {
	if (n > 256) {
		errno = EIO;
		return -1;
	}
	return getrandom(buf, n, 0) == (ssize_t)n ? 0 : -1;
}

EXPORT void arc4random_buf(void *buf, size_t n) {
	while (n) {
		ssize_t got = getrandom(buf, n, 0);
		if (got <= 0)
			abort();
		buf = (char *)buf + got;
		n -= got;
	}
}

EXPORT uint32_t arc4random(void) {
	uint32_t r;
	arc4random_buf(&r, sizeof r);
	return r;
}

EXPORT uint32_t arc4random_uniform(uint32_t bound) {
	uint64_t wide = (uint64_t)arc4random() << 32 | arc4random();
	return bound ? wide % bound : 0;
}

/* OpenSSL's generator is stirred with the processor's own clock. */
EXPORT int RAND_bytes(unsigned char *buf, int n) {
	if (!held) {
		int (*next)(unsigned char *, int) = dlsym(RTLD_NEXT, "RAND_bytes");
		return next ? next(buf, n) : 0;
	}
	if (n > 0)
		randomly(buf, n);
	return 1;
}

EXPORT int RAND_priv_bytes(unsigned char *buf, int n) { return RAND_bytes(buf, n); }

static int opened(int fd, const char *path) {
	if (held && fd >= 0 && fd < FDS) {
		forget(fd);
		files[fd].random = !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random");
	}
	return fd;
}

#define OPEN(name, dir, ...)                                                          \
	EXPORT int name(__VA_ARGS__, int flags, ...) {                                \
		va_list ap;                                                           \
		va_start(ap, flags);                                                  \
		mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
		va_end(ap);                                                           \
		return opened(PASS(SYS_openat, dir, path, flags | O_LARGEFILE, mode), path); \
	}

OPEN(open, AT_FDCWD, const char *path)
OPEN(open64, AT_FDCWD, const char *path)
OPEN(openat, dir, int dir, const char *path)
OPEN(openat64, dir, int dir, const char *path)

#define OPEN_2(name, dir, ...) \
	EXPORT int name(__VA_ARGS__, int flags) { return opened(PASS(SYS_openat, dir, path, flags | O_LARGEFILE, 0), path); }

OPEN_2(__open_2, AT_FDCWD, const char *path)
OPEN_2(__open64_2, AT_FDCWD, const char *path)
OPEN_2(__openat_2, dir, int dir, const char *path)
OPEN_2(__openat64_2, dir, int dir, const char *path)

EXPORT pid_t getpid(void) { return held ? page->pid : RAW(SYS_getpid); }

EXPORT int kill(pid_t pid, int signal) {
	if (held && pid == page->pid)
		pid = page->owner;
	return PASS(SYS_kill, pid, signal);
}

EXPORT int uname(struct utsname *u) {
	int r = PASS(SYS_uname, u);
	if (r == 0 && held)
		snprintf(u->nodename, sizeof u->nodename, "%s", page->hostname);
	return r;
}

EXPORT int gethostname(char *name, size_t n) {
	struct utsname u;
	if (uname(&u))
		return -1;
	size_t length = strlen(u.nodename) + 1;
	if (length > n) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name, u.nodename, length);
	return 0;
}

/* Some ask the kernel by number. */
EXPORT long syscall(long n, ...) {
	va_list ap;
	va_start(ap, n);
	long a[6];
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (held)
		switch (n) {
		case SYS_getrandom:
			return getrandom((void *)a[0], a[1], a[2]);
		case SYS_clock_gettime:
			return clock_gettime(a[0], (void *)a[1]);
		case SYS_gettimeofday:
			return gettimeofday((void *)a[0], (void *)a[1]);
		case SYS_clock_nanosleep:
			return answer(-clock_nanosleep(a[0], a[1], (void *)a[2], (void *)a[3]));
		case SYS_nanosleep:
			return nanosleep((void *)a[0], (void *)a[1]);
		case SYS_ppoll:
			return ppoll((void *)a[0], a[1], (void *)a[2], (void *)a[3]);
		case SYS_epoll_pwait:
			return epoll_pwait(a[0], (void *)a[1], a[2], a[3], (void *)a[4]);
		case SYS_read:
			return read(a[0], (void *)a[1], a[2]);
		case SYS_close:
			return close(a[0]);
		case SYS_getpid:
			return getpid();
		}
	return PASS(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- beginning ---- */

/* C's own stdin reads past every hook: give it one that does not. */
static ssize_t cookie_read(void *cookie, char *buf, size_t n) {
	(void)cookie;
	return read(0, buf, n);
}

/* A process that the program forks is not held, and ends with it. */
static void forked(void) {
	held = 0;
	RAW(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
}

__attribute__((constructor)) static void begin_all(void) {
	const char *setting = getenv("LOCKCHECK_HOLD");
	int page_fd;
	if (!setting || sscanf(setting, "%d,%d", &control, &page_fd) != 2)
		return;
	void *p = mmap(0, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
	if (p == MAP_FAILED)
		return;
	page = p;
	int self = RAW(SYS_getpid);
	inside = 1;
	if (control < HIGH) { /* out of the way of programs that count descriptors */
		int c = RAW(SYS_fcntl, control, F_DUPFD, HIGH), d = RAW(SYS_fcntl, page_fd, F_DUPFD, HIGH);
		if (c >= 0 && d >= 0) {
			char moved[32];
			RAW(SYS_close, control);
			RAW(SYS_close, page_fd);
			snprintf(moved, sizeof moved, "%d,%d", c, d);
			setenv("LOCKCHECK_HOLD", moved, 1);
			control = c;
		}
	}
	if (!page->owner)
		page->owner = self;
	if (page->owner != self)
		return;
	held = 1;
	pthread_atfork(0, 0, forked);
	cookie_io_functions_t f = {.read = cookie_read};
	FILE *in = fopencookie(0, "r", f);
	if (in) {
		in->_fileno = 0; /* Python asks */
		stdin = in;
	}
	struct message m = {.kind = 'H'};
	tell(&m, -1);
}
