/* SPDX-License-Identifier: MIT */
/* Preloaded into the command: counts the calls of the functions below from main() on, and makes one call of one of them
 * fail. It sees calls through the dynamic linker, also those of other libraries; not those within the C library, such
 * as the write() of its streams. Environment:
 *
 *   FAILING_CALL_COUNTS    a file of `struct counts`, filled as the process runs, so that it outlives any end
 *   FAILING_CALL_FUNCTION  a name of the table
 *   FAILING_CALL_NUMBER    which call fails, from 1
 *   FAILING_CALL_ERRNO     its errno; "short": a write that takes one byte, a read that gives one; "kill": the process
 *                          gets SIGKILL before the call
 *   FAILING_CALL_WORKER    1: not this process but those that it starts with posix_spawn */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The order is that of failing.py. */
enum function {
  OPEN_TO_WRITE,
  OPEN_TO_READ,
  READ,
  WRITE,
  FSYNC,
  CLOSE,
  RENAME,
  MKDIR,
  FSTAT,
  MMAP,
  MREMAP,
  MPROTECT,
  FTRUNCATE,
  MEMFD_CREATE,
  FCNTL,
  SOCKETPAIR,
  POSIX_SPAWN,
  PTHREAD_CREATE,
  SEND,
  RECV,
  MALLOC,
  FUNCTIONS
};
static const char* const names[FUNCTIONS] = {
    "open_to_write", "open_to_read", "read",        "write",          "fsync",    "close",     "rename",
    "mkdir",         "fstat",        "mmap",        "mremap",         "mprotect", "ftruncate", "memfd_create",
    "fcntl",         "socketpair",   "posix_spawn", "pthread_create", "send",     "recv",      "malloc"};

struct counts {
  _Atomic uint64_t of[FUNCTIONS];
  _Atomic uint64_t injected;
};

static struct counts own;
static struct counts* counts = &own;
static int chosen = FUNCTIONS, error = EIO, is_short, is_kill, of_worker;
static uint64_t number;
static _Atomic int active;

/* Whether this call is the one that fails; errno is set then. */
static int fails(enum function which) {
  if (!atomic_load_explicit(&active, memory_order_relaxed)) return 0;
  const uint64_t call = 1 + atomic_fetch_add(&counts->of[which], 1);
  if ((int)which != chosen || call != number) return 0;
  atomic_fetch_add(&counts->injected, 1);
  if (is_kill) kill(getpid(), SIGKILL);
  errno = error;
  return 1;
}

#define REAL(type, name, ...)       \
  static type (*real)(__VA_ARGS__); \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, name)

static void prepare(void) {
  const char* file = getenv("FAILING_CALL_COUNTS");
  const char* function = getenv("FAILING_CALL_FUNCTION");
  const char* how = getenv("FAILING_CALL_ERRNO");
  const char* call = getenv("FAILING_CALL_NUMBER");
  const char* worker = getenv("FAILING_CALL_WORKER");
  const int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;
  if (fd >= 0) {
    void* shared = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) counts = shared;
    close(fd);
  }
  for (int i = 0; i < FUNCTIONS; ++i)
    if (function && strcmp(function, names[i]) == 0) chosen = i;
  is_short = how && strcmp(how, "short") == 0;
  is_kill = how && strcmp(how, "kill") == 0;
  if (how && !is_short && !is_kill) error = atoi(how);
  number = call ? strtoull(call, NULL, 10) : 0;
  of_worker = worker && strcmp(worker, "1") == 0;
}

static int (*real_main)(int, char**, char**);

static int counted_main(int argc, char** argv, char** environment) {
  prepare();
  /* A worker has the variable of the process that started it as 2. */
  atomic_store(&active, !of_worker);
  return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void* stack_end) {
  REAL(int, "__libc_start_main", int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
       void (*)(void), void*);
  real_main = main;
  return real(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

static int for_writing(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0; }

static mode_t mode_of(int flags, va_list more) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

#define OPEN(name)                                                           \
  int name(const char* path, int flags, ...) {                               \
    REAL(int, #name, const char*, int, ...);                                 \
    va_list more;                                                            \
    va_start(more, flags);                                                   \
    const mode_t mode = mode_of(flags, more);                                \
    va_end(more);                                                            \
    if (fails(for_writing(flags) ? OPEN_TO_WRITE : OPEN_TO_READ)) return -1; \
    return real(path, flags, mode);                                          \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                         \
  int name(int folder, const char* path, int flags, ...) {                   \
    REAL(int, #name, int, const char*, int, ...);                            \
    va_list more;                                                            \
    va_start(more, flags);                                                   \
    const mode_t mode = mode_of(flags, more);                                \
    va_end(more);                                                            \
    if (fails(for_writing(flags) ? OPEN_TO_WRITE : OPEN_TO_READ)) return -1; \
    return real(folder, path, flags, mode);                                  \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                                                     \
  FILE* name(const char* path, const char* mode) {                                                      \
    REAL(FILE*, #name, const char*, const char*);                                                       \
    if (fails(mode[0] == 'r' && strchr(mode, '+') == NULL ? OPEN_TO_READ : OPEN_TO_WRITE)) return NULL; \
    return real(path, mode);                                                                            \
  }
FOPEN(fopen)
FOPEN(fopen64)

ssize_t read(int fd, void* bytes, size_t size) {
  REAL(ssize_t, "read", int, void*, size_t);
  if (!fails(READ)) return real(fd, bytes, size);
  return is_short ? real(fd, bytes, size != 0) : -1;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  REAL(ssize_t, "write", int, const void*, size_t);
  if (!fails(WRITE)) return real(fd, bytes, size);
  return is_short ? real(fd, bytes, size != 0) : -1;
}

int fsync(int fd) {
  REAL(int, "fsync", int);
  return fails(FSYNC) ? -1 : real(fd);
}

/* Linux closes the file also where it reports an error. */
int close(int fd) {
  REAL(int, "close", int);
  const int result = real(fd);
  return fails(CLOSE) ? -1 : result;
}

int rename(const char* from, const char* to) {
  REAL(int, "rename", const char*, const char*);
  return fails(RENAME) ? -1 : real(from, to);
}

int mkdir(const char* path, mode_t mode) {
  REAL(int, "mkdir", const char*, mode_t);
  return fails(MKDIR) ? -1 : real(path, mode);
}

int fstat(int fd, struct stat* status) {
  REAL(int, "fstat", int, struct stat*);
  return fails(FSTAT) ? -1 : real(fd, status);
}

#define MAP(name)                                                                           \
  void* name(void* address, size_t size, int protection, int flags, int fd, off_t offset) { \
    REAL(void*, #name, void*, size_t, int, int, int, off_t);                                \
    return fails(MMAP) ? MAP_FAILED : real(address, size, protection, flags, fd, offset);   \
  }
MAP(mmap)
MAP(mmap64)

void* mremap(void* address, size_t old_size, size_t size, int flags, ...) {
  REAL(void*, "mremap", void*, size_t, size_t, int, ...);
  va_list more;
  va_start(more, flags);
  void* to = flags & MREMAP_FIXED ? va_arg(more, void*) : NULL;
  va_end(more);
  return fails(MREMAP) ? MAP_FAILED : real(address, old_size, size, flags, to);
}

int mprotect(void* address, size_t size, int protection) {
  REAL(int, "mprotect", void*, size_t, int);
  return fails(MPROTECT) ? -1 : real(address, size, protection);
}

#define TRUNCATE(name)                             \
  int name(int fd, off_t size) {                   \
    REAL(int, #name, int, off_t);                  \
    return fails(FTRUNCATE) ? -1 : real(fd, size); \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int memfd_create(const char* name, unsigned flags) {
  REAL(int, "memfd_create", const char*, unsigned);
  return fails(MEMFD_CREATE) ? -1 : real(name, flags);
}

#define CONTROL(name)                                       \
  int name(int fd, int command, ...) {                      \
    REAL(int, #name, int, int, ...);                        \
    va_list more;                                           \
    va_start(more, command);                                \
    void* argument = va_arg(more, void*);                   \
    va_end(more);                                           \
    return fails(FCNTL) ? -1 : real(fd, command, argument); \
  }
CONTROL(fcntl)
CONTROL(fcntl64)

int socketpair(int domain, int type, int protocol, int ends[2]) {
  REAL(int, "socketpair", int, int, int, int*);
  return fails(SOCKETPAIR) ? -1 : real(domain, type, protocol, ends);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  REAL(int, "posix_spawn", pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
       char* const*, char* const*);
  if (fails(POSIX_SPAWN)) return error;
  if (!of_worker) return real(pid, path, actions, attributes, arguments, environment);
  enum { MOST = 256 };
  const char* all[MOST];
  size_t count = 0;
  while (environment[count] && count < MOST - 8) {
    all[count] = environment[count];
    ++count;
  }
  for (char** mine = environ; *mine && count < MOST - 2; ++mine)
    if (strncmp(*mine, "LD_PRELOAD=", 11) == 0 ||
        (strncmp(*mine, "FAILING_CALL_", 13) == 0 && strncmp(*mine, "FAILING_CALL_WORKER", 19) != 0))
      all[count++] = *mine;
  all[count] = NULL;
  return real(pid, path, actions, attributes, arguments, (char* const*)all);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  REAL(int, "pthread_create", pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return fails(PTHREAD_CREATE) ? error : real(thread, attributes, run, argument);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  REAL(ssize_t, "send", int, const void*, size_t, int);
  if (!fails(SEND)) return real(fd, bytes, size, flags);
  return is_short ? real(fd, bytes, size != 0, flags) : -1;
}

ssize_t recv(int fd, void* bytes, size_t size, int flags) {
  REAL(ssize_t, "recv", int, void*, size_t, int);
  if (!fails(RECV)) return real(fd, bytes, size, flags);
  return is_short ? real(fd, bytes, size != 0, flags) : -1;
}

/* The C library's own names: dlsym() would allocate. */
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) { return fails(MALLOC) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails(MALLOC) ? NULL : __libc_calloc(count, size); }
void* realloc(void* old, size_t size) { return fails(MALLOC) ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails(MALLOC) ? NULL : __libc_memalign(alignment, size); }
