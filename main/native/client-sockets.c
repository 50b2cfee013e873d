#include "client-sockets.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Layout */

static uint32_t take(uint32_t *end, uint32_t bytes) {
  uint32_t at = *end;
  *end = (at + bytes + 63) & ~UINT32_C(63);
  return at;
}

struct client_layout client_sockets_layout(void) {
  struct client_layout at = {0};
  uint32_t end = 0;
  at.control = take(&end, CLIENT_WORDS * 4);
  at.failures = take(&end, CLIENT_PLACES * 4);
  at.lengths = take(&end, CLIENT_SLOTS * 4);
  at.handles = take(&end, CLIENT_SLOTS * 4);
  at.queue_handles = take(&end, CLIENT_QUEUE_MAX * 4);
  at.queue_lengths = take(&end, CLIENT_QUEUE_MAX * 4);
  at.queue_offsets = take(&end, CLIENT_QUEUE_MAX * 4);
  at.packets = take(&end, CLIENT_SLOTS * CLIENT_SLOT_BYTES);
  at.queue = take(&end, CLIENT_QUEUE_BYTES);
  at.total = end;
  return at;
}

static uint32_t *words(const struct client_sockets *all, uint32_t offset) {
  return (uint32_t *)(void *)(all->block + offset);
}

int client_sockets_init(struct client_sockets *all) {
  all->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (all->epoll < 0) return errno;
  for (uint32_t place = 0; place < CLIENT_PLACES; place++) {
    all->descriptors[place] = -1;
    all->handles[place] = place;
    all->free_places[place] = (uint16_t)(CLIENT_PLACES - 1 - place);
  }
  all->free_count = CLIENT_PLACES;
  return 0;
}

void client_sockets_attach(struct client_sockets *all, uint8_t *block) {
  all->block = block;
  all->at = client_sockets_layout();
  for (unsigned slot = 0; slot < CLIENT_SLOTS; slot++) {
    all->received_parts[slot].iov_base = block + all->at.packets + slot * CLIENT_SLOT_BYTES;
    all->received_parts[slot].iov_len = CLIENT_SLOT_BYTES;
    all->received[slot].msg_hdr.msg_iov = &all->received_parts[slot];
    all->received[slot].msg_hdr.msg_iovlen = 1;
  }
  for (unsigned entry = 0; entry < CLIENT_QUEUE_MAX; entry++) {
    all->leaving[entry].msg_hdr.msg_iov = &all->leaving_parts[entry];
    all->leaving[entry].msg_hdr.msg_iovlen = 1;
  }
}

/* Opening and closing */

static int connected(const struct addrinfo *info) {
  int fd = socket(info->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
  if (fd < 0) return -errno;
  if (connect(fd, info->ai_addr, info->ai_addrlen) == 0) return fd;
  int failure = errno;
  (void)close(fd);
  return -failure;
}

static int open_to(const char *host, uint16_t port) {
  char service[8];
  (void)snprintf(service, sizeof service, "%u", (unsigned)port);
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *info = NULL;
  if (getaddrinfo(host, service, &hints, &info) != 0) return -EINVAL;
  int fd = connected(info);
  freeaddrinfo(info);
  return fd;
}

int client_sockets_open(struct client_sockets *all, const char *host, uint16_t port) {
  if (all->free_count == 0) return -EMFILE;
  int fd = open_to(host, port);
  if (fd < 0) return fd;
  uint16_t place = all->free_places[all->free_count - 1];
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = place};
  if (epoll_ctl(all->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    int failure = errno;
    (void)close(fd);
    return -failure;
  }
  all->free_count--;
  all->descriptors[place] = fd;
  all->handles[place] = (all->handles[place] + CLIENT_PLACES) & CLIENT_HANDLE_MAX;
  words(all, all->at.failures)[place] = 0;
  return (int)all->handles[place];
}

/* The place of an open socket, or CLIENT_PLACES when the handle is of none. */
static uint32_t place_of(const struct client_sockets *all, uint32_t handle) {
  uint32_t place = handle % CLIENT_PLACES;
  bool is_open = all->descriptors[place] >= 0 && all->handles[place] == handle;
  return is_open ? place : CLIENT_PLACES;
}

void client_sockets_close(struct client_sockets *all, uint32_t handle) {
  uint32_t place = place_of(all, handle);
  if (place == CLIENT_PLACES) return;
  (void)close(all->descriptors[place]);
  all->descriptors[place] = -1;
  all->free_places[all->free_count++] = (uint16_t)place;
}

void client_sockets_end(struct client_sockets *all) {
  for (uint32_t place = 0; place < CLIENT_PLACES; place++) {
    client_sockets_close(all, all->handles[place]);
  }
  if (all->epoll >= 0) (void)close(all->epoll);
  all->epoll = -1;
}

static void note_broken(const struct client_sockets *all, uint32_t place, int failure) {
  words(all, all->at.failures)[place] = (uint32_t)failure;
  words(all, all->at.control)[CLIENT_BROKEN]++;
}

bool client_sockets_has_news(const struct client_sockets *all) {
  const uint32_t *control = words(all, all->at.control);
  return control[CLIENT_BROKEN] != 0 || control[CLIENT_LOST] != 0;
}

/* Receiving */

/* Receives from one socket into the slots behind `filled`. Returns how many that were. */
static unsigned receive_from(const struct client_sockets *all, uint32_t place, unsigned filled) {
  struct mmsghdr *slots = (struct mmsghdr *)all->received + filled;
  int count;
  do {
    count = recvmmsg(all->descriptors[place], slots, CLIENT_SLOTS - filled, MSG_DONTWAIT, NULL);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK) note_broken(all, place, errno);
    return 0;
  }
  for (unsigned slot = filled; slot < filled + (unsigned)count; slot++) {
    words(all, all->at.lengths)[slot] = all->received[slot].msg_len;
    words(all, all->at.handles)[slot] = all->handles[place];
  }
  return (unsigned)count;
}

unsigned client_sockets_receive(struct client_sockets *all, bool *is_more) {
  struct epoll_event events[CLIENT_SLOTS];
  unsigned filled = 0;
  int ready = epoll_wait(all->epoll, events, CLIENT_SLOTS, 0);
  int at = 0;
  for (; at < ready && filled < CLIENT_SLOTS; at++) {
    filled += receive_from(all, events[at].data.u32, filled);
  }
  /* What is left stays readable, and is told again by the next epoll_wait. */
  *is_more = at < ready || ready == CLIENT_SLOTS || filled == CLIENT_SLOTS;
  return filled;
}

/* Sending */

/* Points a header at an entry. Returns false when that lies outside the queue. */
static bool point_at(struct client_sockets *all, uint32_t entry) {
  uint32_t offset = words(all, all->at.queue_offsets)[entry];
  uint32_t length = words(all, all->at.queue_lengths)[entry];
  if (length > CLIENT_QUEUE_BYTES || offset > CLIENT_QUEUE_BYTES - length) return false;
  all->leaving_parts[entry].iov_base = all->block + all->at.queue + offset;
  all->leaving_parts[entry].iov_len = length;
  return true;
}

/* Sends the entries [from, to), all to one socket. */
static void send_run(struct client_sockets *all, uint32_t place, uint32_t from, uint32_t to) {
  uint32_t *control = words(all, all->at.control);
  while (from < to) {
    int sent = sendmmsg(all->descriptors[place], all->leaving + from, to - from, MSG_DONTWAIT);
    if (sent > 0) {
      from += (uint32_t)sent;
    } else if (sent == 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      control[CLIENT_LOST]++;
      from++;
    } else if (errno != EINTR) {
      note_broken(all, place, errno);
      return;
    }
  }
}

void client_sockets_flush(struct client_sockets *all) {
  uint32_t *control = words(all, all->at.control);
  const uint32_t *handles = words(all, all->at.queue_handles);
  uint32_t queued = control[CLIENT_QUEUED] < CLIENT_QUEUE_MAX ? control[CLIENT_QUEUED]
                                                              : CLIENT_QUEUE_MAX;
  uint32_t from = 0;
  while (from < queued) {
    uint32_t handle = handles[from];
    uint32_t to = from;
    while (to < queued && handles[to] == handle && point_at(all, to)) to++;
    if (to == from) {
      control[CLIENT_LOST]++;
      from++;
      continue;
    }
    uint32_t place = place_of(all, handle);
    if (place < CLIENT_PLACES) send_run(all, place, from, to);
    else control[CLIENT_LOST] += to - from;
    from = to;
  }
  control[CLIENT_QUEUED] = 0;
}
