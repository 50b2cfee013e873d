#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "callback.h"
#include "client-sockets.h"
#include "udp-socket.h"

/* Batches in a row before the event loop gets its turn. */
enum { ROUNDS_MAX = 4 };

static const napi_type_tag CLIENT_TAG = {0x27d4eb2f165667c5, 0x9e3779b185ebca87};

struct client {
  struct client_sockets sockets;
  uv_poll_t poll;
  napi_env env;
  struct instance *instance;
  enum state state;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  napi_ref self;
  napi_ref block;
  napi_ref on_batch;
};

/* The event loop */

/* Tells JavaScript of a batch; false when no more must be received now. */
static bool tell(struct client *self, unsigned count) {
  if (callback_call(self->env, self->context, self->self, self->on_batch, (int32_t)count)) {
    return self->state == STATE_OPEN;
  }
  bool is_pending = false;
  if (napi_is_exception_pending(self->env, &is_pending) == napi_ok && is_pending) {
    callback_report_exception(self->env);
    return self->state == STATE_OPEN;
  }
  /* The environment is ending; the cleanup hook will close. */
  if (self->state == STATE_OPEN) (void)uv_poll_stop(&self->poll);
  return false;
}

static void on_poll(uv_poll_t *handle, int status, int events) {
  struct client *self = handle->data;
  napi_handle_scope scope;
  (void)status;
  (void)events;
  if (self->state != STATE_OPEN) return;
  if (napi_open_handle_scope(self->env, &scope) != napi_ok) return;
  bool is_more = true;
  for (int round = 0; round < ROUNDS_MAX && is_more; round++) {
    unsigned count = client_sockets_receive(&self->sockets, &is_more);
    if (count == 0 && !client_sockets_has_news(&self->sockets)) continue;
    if (!tell(self, count)) break;
  }
  (void)napi_close_handle_scope(self->env, scope);
}

/* Closing */

static void release(struct client *self) {
  client_sockets_end(&self->sockets);
  if (self->context != NULL) (void)napi_async_destroy(self->env, self->context);
  self->context = NULL;
  callback_delete_reference(self->env, &self->on_batch);
  callback_delete_reference(self->env, &self->block);
  self->sockets.block = NULL;
  if (self->cleanup != NULL) (void)napi_remove_async_cleanup_hook(self->cleanup);
  self->cleanup = NULL;
  self->state = STATE_CLOSED;
  callback_delete_reference(self->env, &self->self);
}

static void on_handle_closed(uv_handle_t *handle) {
  struct client *self = handle->data;
  napi_handle_scope scope;
  bool has_scope = napi_open_handle_scope(self->env, &scope) == napi_ok;
  self->instance->open_sockets--;
  release(self);
  if (has_scope) (void)napi_close_handle_scope(self->env, scope);
}

static void close_client(struct client *self) {
  if (self->state != STATE_OPEN) return;
  self->state = STATE_CLOSING;
  (void)uv_poll_stop(&self->poll);
  uv_close((uv_handle_t *)&self->poll, on_handle_closed);
}

static void on_environment_end(napi_async_cleanup_hook_handle handle, void *data) {
  (void)handle;
  close_client(data);
}

/* Methods */

/* The client of a method call, which must be open; NULL with an exception pending. */
static struct client *this_client(napi_env env, napi_callback_info info, size_t *argc,
                                  napi_value *argv) {
  napi_value receiver;
  bool is_client = false;
  void *data = NULL;
  if (napi_get_cb_info(env, info, argc, argv, &receiver, NULL) != napi_ok ||
      napi_check_object_type_tag(env, receiver, &CLIENT_TAG, &is_client) != napi_ok ||
      !is_client || napi_unwrap(env, receiver, &data) != napi_ok) {
    (void)napi_throw_type_error(env, NULL, "not a client of this add-on");
    return NULL;
  }
  struct client *self = data;
  if (self->state == STATE_OPEN) return self;
  (void)napi_throw_error(env, "EBADF", "the client is closed");
  return NULL;
}

/* connect(host, port): a handle, or -errno. */
static napi_value method_connect(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2];
  napi_value result;
  char host[128];
  size_t host_bytes = 0;
  uint32_t port = 0;
  struct client *self = this_client(env, info, &argc, argv);
  if (self == NULL) return NULL;
  if (argc != 2 ||
      napi_get_value_string_utf8(env, argv[0], host, sizeof host, &host_bytes) != napi_ok ||
      host_bytes >= sizeof host - 1 || host_bytes != strlen(host) ||
      napi_get_value_uint32(env, argv[1], &port) != napi_ok || port > UINT16_MAX) {
    (void)napi_throw_type_error(env, NULL, "connect takes an address and a port");
    return NULL;
  }
  int handle = client_sockets_open(&self->sockets, host, (uint16_t)port);
  return napi_create_int32(env, handle, &result) == napi_ok ? result : NULL;
}

/* disconnect(handle): closes one socket. */
static napi_value method_disconnect(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argument;
  uint32_t handle = 0;
  struct client *self = this_client(env, info, &argc, &argument);
  if (self == NULL) return NULL;
  if (argc == 1 && napi_get_value_uint32(env, argument, &handle) == napi_ok) {
    client_sockets_close(&self->sockets, handle);
  }
  return NULL;
}

static napi_value method_flush(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  struct client *self = this_client(env, info, &argc, NULL);
  if (self != NULL) client_sockets_flush(&self->sockets);
  return NULL;
}

static napi_value method_close(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  struct client *self = this_client(env, info, &argc, NULL);
  if (self != NULL) close_client(self);
  return NULL;
}

/* Opening */

static bool property(napi_env env, napi_value object, const char *name, uint32_t number) {
  napi_value value;
  return napi_create_uint32(env, number, &value) == napi_ok &&
         napi_set_named_property(env, object, name, value) == napi_ok;
}

static bool describe(napi_env env, napi_value object, const struct client_layout *at,
                     napi_value block) {
  static const napi_property_descriptor METHODS[] = {
      {.utf8name = "connect", .method = method_connect},
      {.utf8name = "disconnect", .method = method_disconnect},
      {.utf8name = "flush", .method = method_flush},
      {.utf8name = "close", .method = method_close},
  };
  return napi_set_named_property(env, object, "block", block) == napi_ok &&
         property(env, object, "control", at->control) &&
         property(env, object, "failures", at->failures) &&
         property(env, object, "lengths", at->lengths) &&
         property(env, object, "handles", at->handles) &&
         property(env, object, "queueHandles", at->queue_handles) &&
         property(env, object, "queueLengths", at->queue_lengths) &&
         property(env, object, "queueOffsets", at->queue_offsets) &&
         property(env, object, "packets", at->packets) &&
         property(env, object, "queue", at->queue) &&
         property(env, object, "placeCount", CLIENT_PLACES) &&
         property(env, object, "slots", CLIENT_SLOTS) &&
         property(env, object, "slotBytes", CLIENT_SLOT_BYTES) &&
         property(env, object, "queueMax", CLIENT_QUEUE_MAX) &&
         property(env, object, "queueBytes", CLIENT_QUEUE_BYTES) &&
         napi_define_properties(env, object, sizeof METHODS / sizeof *METHODS, METHODS) == napi_ok;
}

static bool start(struct client *self) {
  uv_loop_t *loop = NULL;
  if (napi_get_uv_event_loop(self->env, &loop) != napi_ok) return false;
  self->poll.data = self;
  if (napi_add_async_cleanup_hook(self->env, on_environment_end, self, &self->cleanup) !=
      napi_ok) {
    return false;
  }
  if (uv_poll_init(loop, &self->poll, self->sockets.epoll) != 0) return false;
  /* A question in flight is kept alive by its deadline, not by its socket. */
  uv_unref((uv_handle_t *)&self->poll);
  self->state = STATE_OPEN;
  self->instance->open_sockets++;
  if (uv_poll_start(&self->poll, UV_READABLE, on_poll) == 0) return true;
  close_client(self);
  return false;
}

/* Makes the object whole. On failure everything but the struct is let go, now or by uv_close. */
static bool assemble(struct client *self, napi_value object, napi_value on_batch) {
  napi_env env = self->env;
  napi_value name;
  napi_value block;
  void *bytes = NULL;
  struct client_layout at = client_sockets_layout();
  bool is_block = napi_create_reference(env, object, 1, &self->self) == napi_ok &&
                  napi_create_reference(env, on_batch, 1, &self->on_batch) == napi_ok &&
                  napi_create_arraybuffer(env, at.total, &bytes, &block) == napi_ok &&
                  napi_create_reference(env, block, 1, &self->block) == napi_ok;
  if (is_block) client_sockets_attach(&self->sockets, bytes);
  bool is_whole = is_block &&
                  napi_create_string_utf8(env, "sluice:client", NAPI_AUTO_LENGTH, &name) ==
                      napi_ok &&
                  napi_async_init(env, object, name, &self->context) == napi_ok &&
                  describe(env, object, &at, block) && start(self);
  if (!is_whole && self->state == STATE_CLOSED) release(self);
  return is_whole;
}

static void finalize_client(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
}

static napi_value throw_failed(napi_env env) {
  (void)napi_throw_error(env, "ENOMEM", "the client could not be made");
  return NULL;
}

napi_value client_method_open(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value on_batch;
  napi_value object;
  napi_valuetype type;
  void *instance = NULL;
  if (napi_get_cb_info(env, info, &argc, &on_batch, NULL, NULL) != napi_ok || argc != 1 ||
      napi_typeof(env, on_batch, &type) != napi_ok || type != napi_function) {
    (void)napi_throw_type_error(env, NULL, "openClient takes a function");
    return NULL;
  }
  if (napi_get_instance_data(env, &instance) != napi_ok || instance == NULL) return NULL;
  struct client *self = calloc(1, sizeof *self);
  if (self == NULL) return throw_failed(env);
  self->env = env;
  self->instance = instance;
  self->state = STATE_CLOSED;
  if (client_sockets_init(&self->sockets) != 0) {
    free(self);
    return throw_failed(env);
  }
  if (napi_create_object(env, &object) != napi_ok ||
      napi_type_tag_object(env, object, &CLIENT_TAG) != napi_ok ||
      napi_wrap(env, object, self, finalize_client, NULL, NULL) != napi_ok) {
    client_sockets_end(&self->sockets);
    free(self);
    return throw_failed(env);
  }
  return assemble(self, object, on_batch) ? object : throw_failed(env);
}
