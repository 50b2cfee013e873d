/*
 * Node-API add-on: UDP sockets that hand datagrams to JavaScript in batches. Linux only.
 *
 * The life of a batch, all in the thread whose event loop owns the socket:
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
#include <errno.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "datagrams.h"

enum {
  /* Batches in a row before the event loop gets its turn. */
  ROUNDS_MAX = 4,
  /* Counted up with every change that the TypeScript side must know. */
  INTERFACE_VERSION = 1,
};

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

static const napi_type_tag SOCKET_TAG = {0x5c1ce0d1a95f4e21, 0xb47c6e0f3d2a9186};

/* Calls and errors */

static napi_value throw_text(napi_env env, const char *code, const char *text) {
  (void)napi_throw_error(env, code, text);
  return NULL;
}

static napi_value throw_errno(napi_env env, int failure) {
  int translated = uv_translate_sys_error(failure);
  char name[32];
  char text[96];
  (void)uv_err_name_r(translated, name, sizeof name);
  (void)uv_strerror_r(translated, text, sizeof text);
  return throw_text(env, name, text);
}

static bool property(napi_env env, napi_value object, const char *name, uint32_t number) {
  napi_value value;
  return napi_create_uint32(env, number, &value) == napi_ok &&
         napi_set_named_property(env, object, name, value) == napi_ok;
}

/* Hands an exception of a callback to 'uncaughtException'. */
static void report_exception(napi_env env) {
  bool is_pending = false;
  napi_value error;
  if (napi_is_exception_pending(env, &is_pending) != napi_ok || !is_pending) return;
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok) return;
  (void)napi_fatal_exception(env, error);
}

/*
 * Calls a referenced function with one number. False when it threw, or when the environment can
 * run no more JavaScript; the first leaves an exception pending, the second does not.
 */
static bool call(struct udp_socket *self, napi_ref function_ref, int32_t number) {
  napi_value receiver;
  napi_value function;
  napi_value argument;
  if (napi_get_reference_value(self->env, self->self, &receiver) != napi_ok) return false;
  if (napi_get_reference_value(self->env, function_ref, &function) != napi_ok) return false;
  if (receiver == NULL || function == NULL) return false;
  if (napi_create_int32(self->env, number, &argument) != napi_ok) return false;
  return napi_make_callback(self->env, self->context, receiver, function, 1, &argument, NULL) ==
         napi_ok;
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
    report_exception(self->env);
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

/* Closing */

static void delete_reference(napi_env env, napi_ref *reference) {
  if (*reference != NULL) (void)napi_delete_reference(env, *reference);
  *reference = NULL;
}

/* Lets go of everything but the struct itself, which goes with the JavaScript object. */
static void release(struct udp_socket *self) {
  datagrams_close(&self->io);
  if (self->context != NULL) (void)napi_async_destroy(self->env, self->context);
  self->context = NULL;
  delete_reference(self->env, &self->on_batch);
  delete_reference(self->env, &self->on_closed);
  delete_reference(self->env, &self->block);
  self->io.block = NULL;
  if (self->cleanup != NULL) (void)napi_remove_async_cleanup_hook(self->cleanup);
  self->cleanup = NULL;
  self->state = STATE_CLOSED;
  delete_reference(self->env, &self->self);
}

static void on_handle_closed(uv_handle_t *handle) {
  struct udp_socket *self = handle->data;
  napi_handle_scope scope;
  bool has_scope = napi_open_handle_scope(self->env, &scope) == napi_ok;
  self->instance->open_sockets--;
  datagrams_close(&self->io);
  if (has_scope && self->on_closed != NULL) {
    if (!call(self, self->on_closed, 0)) report_exception(self->env);
  }
  release(self);
  if (has_scope) (void)napi_close_handle_scope(self->env, scope);
}

static void start_closing(struct udp_socket *self) {
  if (self->state != STATE_OPEN) return;
  self->state = STATE_CLOSING;
  (void)uv_poll_stop(&self->poll);
  uv_close((uv_handle_t *)&self->poll, on_handle_closed);
}

static void on_environment_end(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  start_closing(data);
}

static void finalize_socket(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

/* Methods of a socket */

static struct udp_socket *this_socket(napi_env env, napi_callback_info info, size_t *argc,
                                      napi_value *argv) {
  napi_value receiver;
  bool is_socket = false;
  void *data = NULL;
  if (napi_get_cb_info(env, info, argc, argv, &receiver, NULL) != napi_ok ||
      napi_check_object_type_tag(env, receiver, &SOCKET_TAG, &is_socket) != napi_ok ||
      !is_socket || napi_unwrap(env, receiver, &data) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "not a socket of this add-on");
    return NULL;
  }
  return data;
}

/* flush(): sends the queue. What does not fit into the socket now goes when it is writable. */
static napi_value method_flush(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  struct udp_socket *self = this_socket(env, info, &argc, NULL);
  if (self == NULL || self->state != STATE_OPEN || self->is_blocked) return NULL;
  if (!datagrams_flush(&self->io)) set_polling(self, true);
  return NULL;
}

/* stop(): receives no more; the queue still works. */
static napi_value method_stop(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  struct udp_socket *self = this_socket(env, info, &argc, NULL);
  if (self == NULL || self->state != STATE_OPEN) return NULL;
  self->is_stopped = true;
  set_polling(self, self->is_blocked);
  return NULL;
}

/* close(onClosed): onClosed is called once the descriptor is closed and the port is free. */
static napi_value method_close(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value on_closed;
  struct udp_socket *self = this_socket(env, info, &argc, &on_closed);
  if (self == NULL) return NULL;
  if (self->state != STATE_OPEN) return throw_text(env, "EBADF", "the socket is closed");
  napi_valuetype type;
  if (argc < 1 || napi_typeof(env, on_closed, &type) != napi_ok || type != napi_function ||
      napi_create_reference(env, on_closed, 1, &self->on_closed) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "close takes a function");
    return NULL;
  }
  start_closing(self);
  return NULL;
}

static napi_value set_referenced(napi_env env, napi_callback_info info, bool is_referenced) {
  size_t argc = 0;
  struct udp_socket *self = this_socket(env, info, &argc, NULL);
  if (self == NULL || self->state != STATE_OPEN) return NULL;
  if (is_referenced) {
    uv_ref((uv_handle_t *)&self->poll);
  } else {
    uv_unref((uv_handle_t *)&self->poll);
  }
  return NULL;
}

static napi_value method_ref(napi_env env, napi_callback_info info) {
  return set_referenced(env, info, true);
}

static napi_value method_unref(napi_env env, napi_callback_info info) {
  return set_referenced(env, info, false);
}

/* Opening */

struct open_arguments {
  char host[128];
  uint32_t port;
  uint32_t flags;
  uint32_t slots;
  int32_t buffer_bytes;
  napi_value on_batch;
};

static bool read_arguments(napi_env env, napi_callback_info info, struct open_arguments *to) {
  size_t argc = 6;
  size_t host_bytes = 0;
  napi_value argv[6];
  napi_valuetype type;
  return napi_get_cb_info(env, info, &argc, argv, NULL, NULL) == napi_ok && argc == 6 &&
         napi_get_value_string_utf8(env, argv[0], to->host, sizeof to->host, &host_bytes) ==
             napi_ok &&
         host_bytes == strlen(to->host) && host_bytes < sizeof to->host - 1 &&
         napi_get_value_uint32(env, argv[1], &to->port) == napi_ok && to->port <= UINT16_MAX &&
         napi_get_value_uint32(env, argv[2], &to->flags) == napi_ok &&
         napi_get_value_uint32(env, argv[3], &to->slots) == napi_ok && to->slots >= 1 &&
         to->slots <= SLOTS_MAX &&
         napi_get_value_int32(env, argv[4], &to->buffer_bytes) == napi_ok &&
         napi_typeof(env, argv[5], &type) == napi_ok && type == napi_function &&
         (to->on_batch = argv[5]) != NULL;
}

/* The object: bound address, the block, byte offsets of its areas, methods. */
static bool describe(napi_env env, napi_value object, const struct udp_socket *self,
                     napi_value block) {
  char host[INET6_ADDRSTRLEN + 1];
  uint16_t port = 0;
  napi_value text;
  const struct layout *at = &self->io.at;
  static const napi_property_descriptor METHODS[] = {
      {.utf8name = "flush", .method = method_flush},
      {.utf8name = "stop", .method = method_stop},
      {.utf8name = "close", .method = method_close},
      {.utf8name = "ref", .method = method_ref},
      {.utf8name = "unref", .method = method_unref},
  };
  return datagrams_name(&self->io, host, sizeof host, &port) == 0 &&
         napi_create_string_utf8(env, host, NAPI_AUTO_LENGTH, &text) == napi_ok &&
         napi_set_named_property(env, object, "address", text) == napi_ok &&
         napi_set_named_property(env, object, "block", block) == napi_ok &&
         property(env, object, "port", port) && property(env, object, "control", at->control) &&
         property(env, object, "lengths", at->lengths) &&
         property(env, object, "peers", at->peers) &&
         property(env, object, "packets", at->packets) &&
         property(env, object, "answerLengths", at->answer_lengths) &&
         property(env, object, "answerOffsets", at->answer_offsets) &&
         property(env, object, "answers", at->answers) &&
         property(env, object, "queueLengths", at->queue_lengths) &&
         property(env, object, "queueOffsets", at->queue_offsets) &&
         property(env, object, "queuePeers", at->queue_peers) &&
         property(env, object, "queue", at->queue) &&
         napi_define_properties(env, object, sizeof METHODS / sizeof *METHODS, METHODS) == napi_ok;
}

static bool create_block(struct udp_socket *self, uint32_t slots, napi_value *block) {
  void *bytes = NULL;
  size_t total = datagrams_layout(slots).total;
  if (napi_create_arraybuffer(self->env, total, &bytes, block) != napi_ok) return false;
  if (napi_create_reference(self->env, *block, 1, &self->block) != napi_ok) return false;
  datagrams_attach(&self->io, bytes, slots);
  return true;
}

/* From here on the environment would close the socket. The last step that can fail is polling. */
static bool start(struct udp_socket *self) {
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
  start_closing(self);
  return false;
}

/* Makes the object whole. On failure everything but the struct is let go, now or by uv_close. */
static bool assemble(struct udp_socket *self, const struct open_arguments *arguments,
                     napi_value object) {
  napi_env env = self->env;
  napi_value name;
  napi_value block;
  bool is_whole =
      napi_create_reference(env, object, 1, &self->self) == napi_ok &&
      napi_create_reference(env, arguments->on_batch, 1, &self->on_batch) == napi_ok &&
      napi_create_string_utf8(env, "sluice:udp", NAPI_AUTO_LENGTH, &name) == napi_ok &&
      napi_async_init(env, object, name, &self->context) == napi_ok &&
      create_block(self, arguments->slots, &block) && describe(env, object, self, block) &&
      start(self);
  if (!is_whole && self->state == STATE_CLOSED) release(self);
  return is_whole;
}

/*
 * open(host, port, flags, slots, bufferBytes, onBatch): see net/native-udp-addon.ts.
 * Throws an Error whose code is the errno name when the socket cannot be bound.
 */
static napi_value method_open(napi_env env, napi_callback_info info) {
  struct open_arguments arguments;
  napi_value object;
  void *instance = NULL;
  if (!read_arguments(env, info, &arguments)) {
    return throw_text(env, "ERR_INVALID_ARG_VALUE", "open was called with wrong arguments");
  }
  if (napi_get_instance_data(env, &instance) != napi_ok || instance == NULL) return NULL;
  struct udp_socket *self = calloc(1, sizeof *self);
  if (self == NULL) return throw_errno(env, ENOMEM);
  self->env = env;
  self->instance = instance;
  self->state = STATE_CLOSED;
  int failure = datagrams_open(&self->io, arguments.host, (uint16_t)arguments.port,
                               arguments.flags, arguments.buffer_bytes);
  if (failure != 0) {
    free(self);
    return throw_errno(env, failure);
  }
  if (napi_create_object(env, &object) != napi_ok ||
      napi_type_tag_object(env, object, &SOCKET_TAG) != napi_ok ||
      napi_wrap(env, object, self, finalize_socket, NULL, NULL) != napi_ok) {
    datagrams_close(&self->io);
    free(self);
    return throw_text(env, "ENOMEM", "the socket object could not be made");
  }
  if (assemble(self, &arguments, object)) return object;
  return throw_text(env, "ENOMEM", "the socket could not be started");
}

/* openSockets(): sockets of this environment whose handle is not closed yet. */
static napi_value method_open_sockets(napi_env env, napi_callback_info info) {
  void *data = NULL;
  napi_value number;
  (void)info;
  if (napi_get_instance_data(env, &data) != napi_ok || data == NULL) return NULL;
  const struct instance *instance = data;
  return napi_create_uint32(env, instance->open_sockets, &number) == napi_ok ? number : NULL;
}

static void finalize_instance(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

NAPI_MODULE_INIT() {
  static const napi_property_descriptor METHODS[] = {
      {.utf8name = "open", .method = method_open, .attributes = napi_enumerable},
      {.utf8name = "openSockets", .method = method_open_sockets, .attributes = napi_enumerable},
  };
  struct instance *instance = calloc(1, sizeof *instance);
  if (instance == NULL) return throw_errno(env, ENOMEM);
  if (napi_set_instance_data(env, instance, finalize_instance, NULL) != napi_ok) {
    free(instance);
    return throw_text(env, "ENOMEM", "the add-on could not be set up");
  }
  if (napi_define_properties(env, exports, sizeof METHODS / sizeof *METHODS, METHODS) != napi_ok ||
      !property(env, exports, "interfaceVersion", INTERFACE_VERSION) ||
      !property(env, exports, "slotBytes", SLOT_BYTES) ||
      !property(env, exports, "answerBytes", ANSWER_BYTES) ||
      !property(env, exports, "queueMax", QUEUE_MAX) ||
      !property(env, exports, "queueBytes", QUEUE_BYTES)) {
    return NULL;
  }
  return exports;
}
