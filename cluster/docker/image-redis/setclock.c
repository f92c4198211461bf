/* setclock OFFSET RATE: shift the wall clock of this container's server by
 * OFFSET ns from now on, gaining RATE ns each second. See clock.c.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t shift[3] = {atoll(argv[1]), atoll(argv[2]), t.tv_sec * 1000000000LL + t.tv_nsec};
    int fd = open("/lockcheck/clock", O_WRONLY | O_CREAT, 0644);
    if (fd < 0) return 1;
    return pwrite(fd, shift, sizeof shift, 0) == sizeof shift ? 0 : 1;
}
