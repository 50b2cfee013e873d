/*
 * A UDP socket that belongs to one event loop and calls JavaScript once a batch. udp.c makes it and
 * is its face to JavaScript; the life of a batch is drawn in udp-socket.c.
 */
#ifndef SLUICE_UDP_SOCKET_H
#define SLUICE_UDP_SOCKET_H

#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "datagrams.h"

/* One for each environment (main thread or worker). */
struct instance {
  uint32_t open_sockets;
};

enum state { STATE_OPEN, STATE_CLOSING, STATE_CLOSED };

struct udp_socket {
  struct datagrams io;
  uv_poll_t poll;
  napi_env env;
  struct instance *instance;
  enum state state;
  bool is_blocked; /* waiting for the socket to be writable */
  bool is_stopped; /* receives no more */
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  napi_ref self;
  napi_ref block;
  napi_ref on_batch;
  napi_ref on_closed; /* NULL until close() is called */
};

/*
 * Lets the event loop watch the socket; from here on the environment would close it when it ends.
 * False when that failed: then it is closing already, or still to be released (STATE_CLOSED).
 */
bool socket_start(struct udp_socket *self);

/* Sends the queue; what does not fit now goes when the socket is writable. */
void socket_flush(struct udp_socket *self);

/* Receives no more. */
void socket_stop(struct udp_socket *self);

/* Begins to close; everything is released once libuv has let go of the handle. Idempotent. */
void socket_close(struct udp_socket *self);

/*
 * Lets go of everything but the struct itself, which goes with the JavaScript object. Only for a
 * socket that was never started; a started one does it itself.
 */
void socket_release(struct udp_socket *self);

#endif
