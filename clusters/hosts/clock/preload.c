/* The wall clock of the services on one host: preloaded into them, it shows what the file CHAOSKIT_CLOCK says.
 *
 * The file holds three words of 64 bits: offset (ns), since (ns of the true clock) and drift (ns gained per s, after
 * `since`). Each is written at once and `drift` is 0 while `since` changes, so that no reader sees half a change.
 * Only reading the wall clock is redirected. CLOCK_MONOTONIC and everything that waits are the kernel's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

struct words { volatile int64_t offset, since, drift; };

static const struct words true_time;
static const struct words *words = &true_time;
static int (*true_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    true_clock = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CHAOSKIT_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(struct words), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) words = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!true_clock) begin(); /* called by the constructor of another library */
    int failed = true_clock(clock, time);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    int64_t drift = words->drift;
    int64_t now = time->tv_sec * SECOND + time->tv_nsec;
    int64_t shown = now + words->offset;
    if (drift) shown += (int64_t)((__int128)(now - words->since) * drift / SECOND);
    time->tv_sec = shown / SECOND;
    time->tv_nsec = shown % SECOND;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *time, int base) {
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, time) ? base : 0;
}
