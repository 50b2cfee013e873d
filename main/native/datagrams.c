#include "datagrams.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Layout */

static uint32_t take(uint32_t *end, uint32_t bytes) {
  uint32_t at = *end;
  *end = (at + bytes + 63) & ~UINT32_C(63);
  return at;
}

struct layout datagrams_layout(unsigned slots) {
  struct layout at = {0};
  uint32_t end = 0;
  at.control = take(&end, CONTROL_WORDS * 4);
  at.lengths = take(&end, slots * 4);
  at.peers = take(&end, slots * (uint32_t)sizeof(struct peer));
  at.answer_lengths = take(&end, slots * 4);
  at.answer_offsets = take(&end, slots * 4);
  at.queue_lengths = take(&end, QUEUE_MAX * 4);
  at.queue_offsets = take(&end, QUEUE_MAX * 4);
  at.queue_peers = take(&end, QUEUE_MAX * (uint32_t)sizeof(struct peer));
  at.packets = take(&end, slots * SLOT_BYTES);
  at.answers = take(&end, slots * ANSWER_BYTES);
  at.queue = take(&end, QUEUE_BYTES);
  at.total = end;
  return at;
}

static uint32_t *words(const struct datagrams *io, uint32_t offset) {
  return (uint32_t *)(void *)(io->block + offset);
}

static struct peer *peers(const struct datagrams *io, uint32_t offset) {
  return (struct peer *)(void *)(io->block + offset);
}

static void count_failed(const struct datagrams *io, unsigned count) {
  words(io, io->at.control)[CONTROL_FAILED] += count;
}

bool datagrams_has_failed(const struct datagrams *io) {
  return words(io, io->at.control)[CONTROL_FAILED] != 0;
}

void datagrams_attach(struct datagrams *io, uint8_t *block, unsigned slots) {
  io->block = block;
  io->slots = slots;
  io->at = datagrams_layout(slots);
  for (unsigned slot = 0; slot < slots; slot++) {
    io->parts[slot].iov_base = block + io->at.packets + slot * SLOT_BYTES;
    io->parts[slot].iov_len = SLOT_BYTES;
    struct msghdr *message = &io->received[slot].msg_hdr;
    memset(message, 0, sizeof *message);
    message->msg_iov = &io->parts[slot];
    message->msg_iovlen = 1;
    message->msg_name = &io->from[slot];
    message->msg_control = &io->control[slot];
  }
}

/* Opening and closing */

static int set_flag(int fd, int level, int name) {
  int on = 1;
  return setsockopt(fd, level, name, &on, sizeof on) == 0 ? 0 : errno;
}

static bool is_wildcard(const struct sockaddr *address) {
  if (address->sa_family == AF_INET) {
    return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == INADDR_ANY;
  }
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
  return IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

static int set_options(int fd, const struct sockaddr *address, unsigned flags) {
  int failure = 0;
  if (flags & OPEN_REUSE_PORT) failure = set_flag(fd, SOL_SOCKET, SO_REUSEPORT);
  if (failure == 0 && address->sa_family == AF_INET6) {
    int only = flags & OPEN_DUAL_STACK ? 0 : 1;
    if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) != 0) failure = errno;
  }
  if (failure == 0 && is_wildcard(address)) {
    failure = address->sa_family == AF_INET ? set_flag(fd, IPPROTO_IP, IP_PKTINFO)
                                            : set_flag(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO);
  }
  return failure;
}

/* The kernel cuts these to its own bounds; a socket with small buffers still works. */
static void set_buffers(int fd, int bytes) {
  if (bytes <= 0) return;
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static int open_bound(struct datagrams *io, const struct addrinfo *info, unsigned flags,
                      int buffer_bytes) {
  int fd = socket(info->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
  if (fd < 0) return errno;
  int failure = set_options(fd, info->ai_addr, flags);
  if (failure == 0 && bind(fd, info->ai_addr, info->ai_addrlen) != 0) failure = errno;
  if (failure != 0) {
    (void)close(fd);
    return failure;
  }
  set_buffers(fd, buffer_bytes);
  io->fd = fd;
  io->family = info->ai_family;
  return 0;
}

int datagrams_open(struct datagrams *io, const char *host, uint16_t port, unsigned flags,
                   int buffer_bytes) {
  char service[8];
  (void)snprintf(service, sizeof service, "%u", (unsigned)port);
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
  struct addrinfo *info = NULL;
  io->fd = -1;
  if (getaddrinfo(host, service, &hints, &info) != 0) return EINVAL;
  int failure = open_bound(io, info, flags, buffer_bytes);
  freeaddrinfo(info);
  return failure;
}

int datagrams_name(const struct datagrams *io, char *host, size_t host_bytes, uint16_t *port) {
  union endpoint name;
  socklen_t bytes = sizeof name;
  if (getsockname(io->fd, &name.any, &bytes) != 0) return errno;
  if (name.any.sa_family == AF_INET6) name.v6.sin6_scope_id = 0;
  if (getnameinfo(&name.any, bytes, host, (socklen_t)host_bytes, NULL, 0, NI_NUMERICHOST) != 0) {
    return EINVAL;
  }
  *port = ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
  return 0;
}

void datagrams_close(struct datagrams *io) {
  if (io->fd < 0) return;
  (void)close(io->fd);
  io->fd = -1;
  if (io->block == NULL) return;
  uint32_t *control = words(io, io->at.control);
  uint32_t queued = control[CONTROL_QUEUED] < QUEUE_MAX ? control[CONTROL_QUEUED] : QUEUE_MAX;
  if (queued > io->queue_taken) count_failed(io, queued - io->queue_taken);
  count_failed(io, io->answers.count - io->answers.sent + io->queue.count - io->queue.sent);
  control[CONTROL_QUEUED] = 0;
  io->answers.count = io->answers.sent = io->queue.count = io->queue.sent = 0;
}

/* Receiving */

static void reset_headers(struct datagrams *io) {
  for (unsigned slot = 0; slot < io->slots; slot++) {
    io->received[slot].msg_hdr.msg_namelen = sizeof io->from[slot];
    io->received[slot].msg_hdr.msg_controllen = sizeof io->control[slot];
  }
}

int datagrams_receive(struct datagrams *io) {
  reset_headers(io);
  int count;
  do {
    count = recvmmsg(io->fd, io->received, io->slots, MSG_DONTWAIT, NULL);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
  uint32_t *lengths = words(io, io->at.lengths);
  struct peer *slot_peers = peers(io, io->at.peers);
  uint32_t *answer_lengths = words(io, io->at.answer_lengths);
  for (int slot = 0; slot < count; slot++) {
    lengths[slot] = io->received[slot].msg_len;
    peer_read(&slot_peers[slot], &io->received[slot].msg_hdr);
    answer_lengths[slot] = 0;
  }
  return count;
}

/* Sending */

static bool is_inside(uint32_t offset, uint32_t length, uint32_t area) {
  return length <= area && offset <= area - length;
}

/* Appends a message without address; the caller sets name and control. */
static struct msghdr *append(struct outgoing *out, uint8_t *bytes, uint32_t length) {
  unsigned at = out->count++;
  out->parts[at].iov_base = bytes;
  out->parts[at].iov_len = length;
  struct msghdr *message = &out->messages[at].msg_hdr;
  memset(message, 0, sizeof *message);
  message->msg_iov = &out->parts[at];
  message->msg_iovlen = 1;
  return message;
}

/* Sends out[sent, count). A message that the kernel refuses is dropped; a full socket waits. */
static bool send_all(const struct datagrams *io, struct outgoing *out) {
  while (out->sent < out->count) {
    int sent = sendmmsg(io->fd, out->messages + out->sent, out->count - out->sent, MSG_DONTWAIT);
    if (sent > 0) {
      out->sent += (unsigned)sent;
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return false;
    } else if (sent == 0 || errno != EINTR) {
      count_failed(io, 1);
      out->sent++;
    }
  }
  out->count = out->sent = 0;
  return true;
}

bool datagrams_answer(struct datagrams *io, unsigned count) {
  const uint32_t *lengths = words(io, io->at.answer_lengths);
  const uint32_t *offsets = words(io, io->at.answer_offsets);
  uint32_t area = io->slots * ANSWER_BYTES;
  for (unsigned slot = 0; slot < count; slot++) {
    if (lengths[slot] == 0) continue;
    if (!is_inside(offsets[slot], lengths[slot], area)) {
      count_failed(io, 1);
      continue;
    }
    uint8_t *bytes = io->block + io->at.answers + offsets[slot];
    struct msghdr *message = append(&io->answers, bytes, lengths[slot]);
    message->msg_name = &io->from[slot];
    message->msg_namelen = io->received[slot].msg_hdr.msg_namelen;
    message->msg_controllen = io->received[slot].msg_hdr.msg_controllen;
    if (message->msg_controllen > 0) message->msg_control = &io->control[slot];
  }
  return send_all(io, &io->answers);
}

static void queue_append(struct datagrams *io, unsigned entry) {
  uint32_t length = words(io, io->at.queue_lengths)[entry];
  uint32_t offset = words(io, io->at.queue_offsets)[entry];
  const struct peer *peer = &peers(io, io->at.queue_peers)[entry];
  struct outgoing *out = &io->queue;
  unsigned at = out->count;
  socklen_t name_bytes = peer_endpoint(peer, io->family, &out->to[at]);
  if (name_bytes == 0 || !is_inside(offset, length, QUEUE_BYTES)) {
    count_failed(io, 1);
    return;
  }
  struct msghdr *message = append(out, io->block + io->at.queue + offset, length);
  message->msg_name = &out->to[at];
  message->msg_namelen = name_bytes;
  message->msg_controllen = peer_control(peer, io->family, &out->control[at]);
  if (message->msg_controllen > 0) message->msg_control = &out->control[at];
}

bool datagrams_flush(struct datagrams *io) {
  uint32_t *control = words(io, io->at.control);
  for (;;) {
    if (!send_all(io, &io->queue)) return false;
    uint32_t queued = control[CONTROL_QUEUED] < QUEUE_MAX ? control[CONTROL_QUEUED] : QUEUE_MAX;
    if (io->queue_taken >= queued) break;
    while (io->queue_taken < queued) queue_append(io, io->queue_taken++);
  }
  io->queue_taken = 0;
  control[CONTROL_QUEUED] = 0;
  return true;
}

bool datagrams_drain(struct datagrams *io) {
  return send_all(io, &io->answers) && datagrams_flush(io);
}
