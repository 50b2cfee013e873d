/*
 * The life of a socket, and of a batch, all in the thread whose event loop owns the socket.
 *
 *      kernel                 this add-on                         JavaScript (net/native-udp-*.ts)
 *   socket readable --uv_poll--> on_poll
 *                                  |  at most ROUNDS_MAX times:
 *   receive buffer --recvmmsg----> +- slots, lengths, peers
 *                                  |     napi_make_callback ------> onBatch(count)
 *                                  |                                reads slots, writes answers
 *                                  |     <------------------------- returns (or throws)
 *   send buffer   <--sendmmsg----- +- answers of the slots
 *                                  |  again only if the batch was full
 *                                  v
 *                          back to the loop: timers and upstream sockets get their turn
 *
 * Later answers wait in the shared queue; JavaScript calls flush() once at the end of its turn.
 * When the kernel's send buffer is full, the socket stops receiving until it is writable again and
 * everything that waits has gone: no copy, no growth, and the receive buffer bounds what piles up.
 *
 * Lifetimes. The JavaScript object, the shared block and the callback are held by references from
 * open until the handle is closed; the struct is freed by the object's finalizer, which therefore
 * cannot run earlier. A thread that ends in the middle closes its sockets by an asynchronous
 * cleanup hook, which keeps the environment alive until libuv has let go of the handle.
 */
#include "udp-socket.h"

#include "callback.h"

/* Batches in a row before the event loop gets its turn. */
enum { ROUNDS_MAX = 4 };

/* Calling JavaScript */

static bool call(struct udp_socket *self, napi_ref function, int32_t number) {
  return callback_call(self->env, self->context, self->self, function, number);
}

/* Polling */

static void on_poll(uv_poll_t *handle, int status, int events);

static void set_polling(struct udp_socket *self, bool is_blocked) {
  self->is_blocked = is_blocked;
  if (self->state != STATE_OPEN) return;
  int events = is_blocked ? UV_WRITABLE : UV_READABLE;
  if ((self->is_stopped && !is_blocked) || uv_poll_start(&self->poll, events, on_poll) != 0) {
    (void)uv_poll_stop(&self->poll);
  }
}

/*
 * After a failed call: an exception is reported, and the socket goes on. Without an exception the
 * environment is ending; polling stops, the cleanup hook will close the socket.
 */
static bool goes_on_after_failure(struct udp_socket *self) {
  bool is_pending = false;
  if (napi_is_exception_pending(self->env, &is_pending) == napi_ok && is_pending) {
    callback_report_exception(self->env);
    return self->state == STATE_OPEN;
  }
  if (self->state == STATE_OPEN) (void)uv_poll_stop(&self->poll);
  return false;
}

/* Tells JavaScript of sends that failed outside a call of its own, by a batch of none. */
static void report_failed_sends(struct udp_socket *self) {
  if (self->state != STATE_OPEN || !datagrams_has_failed(&self->io)) return;
  if (!call(self, self->on_batch, 0)) (void)goes_on_after_failure(self);
}

static bool is_receiving(const struct udp_socket *self) {
  return self->state == STATE_OPEN && !self->is_stopped && !self->is_blocked;
}

/* One round; false when it was the last. */
static bool serve_batch(struct udp_socket *self) {
  int count = datagrams_receive(&self->io);
  if (count <= 0) return false;
  bool is_called = call(self, self->on_batch, count);
  bool is_sent = datagrams_answer(&self->io, (unsigned)count);
  if (!is_sent) set_polling(self, true);
  bool goes_on = is_called || goes_on_after_failure(self);
  return goes_on && is_receiving(self) && (unsigned)count == self->io.slots;
}

/* A pending socket error makes libuv stop the handle: take the error away and start again. */
static void recover(struct udp_socket *self) {
  int failure = 0;
  socklen_t bytes = sizeof failure;
  if (getsockopt(self->io.fd, SOL_SOCKET, SO_ERROR, &failure, &bytes) == 0) {
    set_polling(self, self->is_blocked);
  }
}

static void on_poll(uv_poll_t *handle, int status, int events) {
  struct udp_socket *self = handle->data;
  napi_handle_scope scope;
  (void)events;
  if (self->state != STATE_OPEN) return;
  if (status < 0) {
    recover(self);
    return;
  }
  if (napi_open_handle_scope(self->env, &scope) != napi_ok) return;
  if (self->is_blocked) {
    if (datagrams_drain(&self->io)) set_polling(self, false);
  } else {
    for (int round = 0; round < ROUNDS_MAX && serve_batch(self); round++) continue;
  }
  report_failed_sends(self);
  (void)napi_close_handle_scope(self->env, scope);
}

void socket_flush(struct udp_socket *self) {
  if (self->state != STATE_OPEN || self->is_blocked) return;
  if (!datagrams_flush(&self->io)) set_polling(self, true);
}

void socket_stop(struct udp_socket *self) {
  if (self->state != STATE_OPEN) return;
  self->is_stopped = true;
  set_polling(self, self->is_blocked);
}

/* Closing */

void socket_release(struct udp_socket *self) {
  datagrams_close(&self->io);
  if (self->context != NULL) (void)napi_async_destroy(self->env, self->context);
  self->context = NULL;
  callback_delete_reference(self->env, &self->on_batch);
  callback_delete_reference(self->env, &self->on_closed);
  callback_delete_reference(self->env, &self->block);
  self->io.block = NULL;
  if (self->cleanup != NULL) (void)napi_remove_async_cleanup_hook(self->cleanup);
  self->cleanup = NULL;
  self->state = STATE_CLOSED;
  callback_delete_reference(self->env, &self->self);
}

static void on_handle_closed(uv_handle_t *handle) {
  struct udp_socket *self = handle->data;
  napi_handle_scope scope;
  bool has_scope = napi_open_handle_scope(self->env, &scope) == napi_ok;
  self->instance->open_sockets--;
  datagrams_close(&self->io);
  if (has_scope && self->on_closed != NULL) {
    if (!call(self, self->on_closed, 0)) callback_report_exception(self->env);
  }
  socket_release(self);
  if (has_scope) (void)napi_close_handle_scope(self->env, scope);
}

void socket_close(struct udp_socket *self) {
  if (self->state != STATE_OPEN) return;
  self->state = STATE_CLOSING;
  (void)uv_poll_stop(&self->poll);
  uv_close((uv_handle_t *)&self->poll, on_handle_closed);
}

static void on_environment_end(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  socket_close(data);
}

bool socket_start(struct udp_socket *self) {
  uv_loop_t *loop = NULL;
  if (napi_get_uv_event_loop(self->env, &loop) != napi_ok) return false;
  self->poll.data = self;
  if (napi_add_async_cleanup_hook(self->env, on_environment_end, self, &self->cleanup) !=
      napi_ok) {
    return false;
  }
  if (uv_poll_init(loop, &self->poll, self->io.fd) != 0) return false;
  self->state = STATE_OPEN;
  self->instance->open_sockets++;
  if (uv_poll_start(&self->poll, UV_READABLE, on_poll) == 0) return true;
  socket_close(self);
  return false;
}
