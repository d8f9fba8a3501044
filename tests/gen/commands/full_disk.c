/* Makes the disk full for a process and those it starts, once they have written FULL_DISK_BYTES.

   FULL_DISK_FILE holds how much that is so far. A file or a folder that is made counts as one byte.
   Preload it as a shared library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long *spent;
static long most;

__attribute__((constructor)) static void begin(void) {
    int handle = open(getenv("FULL_DISK_FILE"), O_RDWR);
    most = atol(getenv("FULL_DISK_BYTES"));
    void *place = mmap(0, sizeof *spent, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    close(handle);
    spent = place == MAP_FAILED ? 0 : place;
}

/* Returns how much of what is to be written still has room; 0 with errno set if none has. */
static size_t room(int handle, size_t bytes) {
    struct stat about;
    if (!spent || (handle >= 0 && (fstat(handle, &about) || !S_ISREG(about.st_mode) || !about.st_nlink)))
        return bytes;
    long before = atomic_fetch_add(spent, bytes);
    if (most < 0 || before + (long)bytes <= most) return bytes;
    errno = ENOSPC;
    return before < most ? most - before : 0;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int handle, const void *data, size_t bytes) {
    REAL(write);
    size_t now = room(handle, bytes);
    return bytes && !now ? -1 : real(handle, data, now);
}

ssize_t writev(int handle, const struct iovec *parts, int count) {
    REAL(writev);
    size_t bytes = 0;
    for (int part = 0; part < count; part++) bytes += parts[part].iov_len;
    return room(handle, bytes) < bytes ? -1 : real(handle, parts, count);
}

ssize_t pwrite64(int handle, const void *data, size_t bytes, off64_t place) {
    REAL(pwrite64);
    size_t now = room(handle, bytes);
    return bytes && !now ? -1 : real(handle, data, now, place);
}

ssize_t sendfile64(int out, int in, off64_t *place, size_t bytes) {
    errno = EINVAL; /* then it is written */
    return -1;
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t bytes, unsigned flags) {
    errno = EINVAL;
    return -1;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return room(-1, 1) ? real(path, mode) : -1;
}

int open64(const char *path, int flags, ...) {
    REAL(open64);
    va_list given;
    va_start(given, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(given, mode_t) : 0;
    va_end(given);
    if ((flags & O_CREAT) && access(path, F_OK) && !room(-1, 1)) return -1;
    return real(path, flags, mode);
}
