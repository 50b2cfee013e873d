/*
 * Many connected UDP sockets, each on a port that the kernel chose at random, watched through one
 * epoll descriptor; plain Linux, nothing of Node.
 *
 * All bytes live in one block of memory that the caller owns, as in datagrams.h: packets received in
 * fixed slots, messages to send packed one after another. A socket has a place, which is used again
 * after it is closed, and is named by a handle: its place and how often that was used before. What
 * was read, queued or noted for an earlier socket of a place therefore never counts for a later one.
 */
#ifndef SLUICE_CLIENT_SOCKETS_H
#define SLUICE_CLIENT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
  /* Sockets open at a time. */
  CLIENT_PLACES = 1024, /* a power of two: the low bits of a handle */
  CLIENT_HANDLE_MAX = INT32_MAX,
  /* Datagrams handed on at a time, over all sockets. */
  CLIENT_SLOTS = 64,
  CLIENT_SLOT_BYTES = 4096 + 64,
  /* Messages that leave together. */
  CLIENT_QUEUE_MAX = 128,
  CLIENT_QUEUE_BYTES = 64 * 1024,
};

/* Words of the control area. JavaScript and the add-on take turns, so no atomics are needed. */
enum client_word {
  CLIENT_QUEUED, /* messages in the queue: JavaScript adds, the add-on sets to 0 when sent */
  CLIENT_LOST,   /* messages the kernel had no room for: the add-on adds, JavaScript sets to 0 */
  CLIENT_BROKEN, /* sockets with a failure that was not read yet: both as above */
  CLIENT_WORDS = 16,
};

/* Byte offsets into the block; each is a multiple of 64. */
struct client_layout {
  uint32_t control;       /* int32 words */
  uint32_t failures;      /* int32 a place: errno of a socket that failed, 0 for none */
  uint32_t lengths;       /* uint32 a slot: bytes received; CLIENT_SLOT_BYTES when cut off */
  uint32_t handles;       /* uint32 a slot: the socket it came to */
  uint32_t queue_handles; /* uint32 an entry */
  uint32_t queue_lengths; /* uint32 an entry */
  uint32_t queue_offsets; /* uint32 an entry, relative to queue */
  uint32_t packets;       /* CLIENT_SLOT_BYTES a slot */
  uint32_t queue;         /* CLIENT_QUEUE_BYTES, packed by the writer */
  uint32_t total;
};

struct client_layout client_sockets_layout(void);

struct client_sockets {
  int epoll;
  uint8_t *block;
  struct client_layout at;
  uint32_t free_count;
  uint16_t free_places[CLIENT_PLACES];
  int descriptors[CLIENT_PLACES];  /* -1 for none */
  uint32_t handles[CLIENT_PLACES]; /* of the socket there, or of the last one */
  struct mmsghdr received[CLIENT_SLOTS];
  struct iovec received_parts[CLIENT_SLOTS];
  struct mmsghdr leaving[CLIENT_QUEUE_MAX];
  struct iovec leaving_parts[CLIENT_QUEUE_MAX];
};

/* Makes the epoll descriptor. Returns 0 or an errno value. */
int client_sockets_init(struct client_sockets *all);

/* Connects the message headers to the block. Called once, before anything below. */
void client_sockets_attach(struct client_sockets *all, uint8_t *block);

/*
 * Opens a socket to a numeric address, with a zone where needed; what comes from elsewhere is
 * dropped by the kernel. Returns its handle, or -errno.
 */
int client_sockets_open(struct client_sockets *all, const char *host, uint16_t port);

/* Closes a socket; its place is free at once. Ignores a handle without one. */
void client_sockets_close(struct client_sockets *all, uint32_t handle);

/*
 * Receives into the slots from all sockets that are readable; failures go to `failures`. Returns
 * the count of slots filled. `is_more` tells that there may be more to receive.
 */
unsigned client_sockets_receive(struct client_sockets *all, bool *is_more);

/* Sends the queue. What finds no room is lost and counted; what fails otherwise breaks the socket. */
void client_sockets_flush(struct client_sockets *all);

/* True when something was lost or broken that JavaScript has not read yet. */
bool client_sockets_has_news(const struct client_sockets *all);

/* Closes everything. Idempotent. */
void client_sockets_end(struct client_sockets *all);

#endif
