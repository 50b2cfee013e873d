/*
 * Stands before sendmmsg in the test build (linked with -Wl,--wrap=sendmmsg): by a fixed pseudo-
 * random sequence it sends only a part, or fails as a full or a broken socket does. The sequence is
 * per thread; SLUICE_FAULTS=off leaves every call as it is.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int __real_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);

static uint32_t draw(void) {
  static _Thread_local uint32_t state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static int fail(int code) {
  errno = code;
  return -1;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  const char *mode = getenv("SLUICE_FAULTS");
  if (mode != NULL && strcmp(mode, "off") == 0) {
    return __real_sendmmsg(fd, messages, count, flags);
  }
  switch (draw() % 8) {
    case 0:
    case 1:
      return fail(EAGAIN);
    case 2:
      return fail(EINTR);
    case 3:
      return mode != NULL && strcmp(mode, "drop") == 0 ? fail(ENOBUFS) : fail(EAGAIN);
    case 4:
    case 5:
      return __real_sendmmsg(fd, messages, (count + 1) / 2, flags);
    default:
      return __real_sendmmsg(fd, messages, count, flags);
  }
}
