/*
 * Receiving and sending UDP datagrams in batches; plain Linux, nothing of Node.
 *
 * All bytes live in one block of memory that the caller owns (`datagrams_layout` says how large and
 * what lies where): packets in fixed slots, answers and queued messages packed one after another.
 */
#ifndef SLUICE_DATAGRAMS_H
#define SLUICE_DATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "peer.h"

enum {
  /* Datagrams in one system call. */
  SLOTS_MAX = 64,
  /*
   * A slot is a line longer than 4,096 bytes: what is too long shows as such, and slot heads do not
   * all fall into the same set of the first-level cache.
   */
  SLOT_BYTES = 4096 + 64,
  /* Room in the answer area for each slot. */
  ANSWER_BYTES = 4096,
  /* Messages waiting to be sent to peers that JavaScript kept. */
  QUEUE_MAX = 64,
  QUEUE_BYTES = 128 * 1024,
};

/* Words of the control area. JavaScript and the add-on take turns, so no atomics are needed. */
enum control_word {
  CONTROL_QUEUED,  /* messages in the queue: JavaScript adds, the add-on sets to 0 when sent */
  CONTROL_FAILED,  /* messages dropped: the add-on adds, JavaScript sets to 0 */
  CONTROL_WORDS = 16,
};

/* Byte offsets into the block; each is a multiple of 64. */
struct layout {
  uint32_t control;         /* int32 words */
  uint32_t lengths;         /* uint32 a slot: bytes received; SLOT_BYTES when cut off */
  uint32_t peers;           /* struct peer a slot */
  uint32_t packets;         /* SLOT_BYTES a slot */
  uint32_t answer_lengths;  /* uint32 a slot: 0 for no answer */
  uint32_t answer_offsets;  /* uint32 a slot, relative to answers */
  uint32_t answers;         /* ANSWER_BYTES for each slot, packed by the writer */
  uint32_t queue_lengths;   /* uint32 an entry */
  uint32_t queue_offsets;   /* uint32 an entry, relative to queue */
  uint32_t queue_peers;     /* struct peer an entry */
  uint32_t queue;           /* QUEUE_BYTES, packed by the writer */
  uint32_t total;
};

struct layout datagrams_layout(unsigned slots);

/* Messages on their way out: messages[sent, count) are still to be sent. */
struct outgoing {
  unsigned count;
  unsigned sent;
  struct mmsghdr messages[SLOTS_MAX];
  struct iovec parts[SLOTS_MAX];
  union endpoint to[SLOTS_MAX];
  union control control[SLOTS_MAX];
};

struct datagrams {
  int fd;
  int family;
  unsigned slots;
  uint8_t *block;
  struct layout at;
  struct mmsghdr received[SLOTS_MAX];
  struct iovec parts[SLOTS_MAX];
  union endpoint from[SLOTS_MAX];
  union control control[SLOTS_MAX];
  struct outgoing answers;
  struct outgoing queue;
  /* Entries of the shared queue that have been moved to `queue`. */
  unsigned queue_taken;
};

enum open_flag {
  OPEN_REUSE_PORT = 1,
  OPEN_DUAL_STACK = 2, /* an IPv6 socket takes IPv4 too; otherwise V6ONLY */
};

/*
 * Opens and binds a non-blocking socket. `host` is numeric, with a zone where needed. When bound
 * to a wildcard it asks for the local address of each datagram.
 * Returns 0, or an errno value with nothing left open.
 */
int datagrams_open(struct datagrams *io, const char *host, uint16_t port, unsigned flags,
                   int buffer_bytes);

/* Connects the message headers to the block. Called once, before anything below. */
void datagrams_attach(struct datagrams *io, uint8_t *block, unsigned slots);

/* The address the socket is bound to, as text without zone. Returns 0 or an errno value. */
int datagrams_name(const struct datagrams *io, char *host, size_t host_bytes, uint16_t *port);

/* Receives what is there, up to `slots`. Returns the count, 0 for nothing, -errno for failure. */
int datagrams_receive(struct datagrams *io);

/*
 * Sends the answers to the last `count` slots received; sends what is in the shared queue.
 * Both return true when all went out or was dropped and counted, false when the socket is full:
 * then nothing may be received before datagrams_drain has returned true.
 */
bool datagrams_answer(struct datagrams *io, unsigned count);
bool datagrams_flush(struct datagrams *io);
bool datagrams_drain(struct datagrams *io);

/* True when sends failed that JavaScript has not read from CONTROL_FAILED yet. */
bool datagrams_has_failed(const struct datagrams *io);

/* Closes the socket and counts what was still to be sent as failed. */
void datagrams_close(struct datagrams *io);

#endif
