/*
 * Node-API add-on: UDP sockets that hand datagrams to JavaScript in batches. Linux only. This file
 * is what JavaScript sees of it (net/native/native-udp-addon.ts); udp-socket.c says how a socket works,
 * client.h how the client side does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "memory.h"
#include "udp-socket.h"

/* Counted up with every change that the TypeScript side must know. */
enum { INTERFACE_VERSION = 4 };

static const napi_type_tag SOCKET_TAG = {0x5c1ce0d1a95f4e21, 0xb47c6e0f3d2a9186};

/* Values and errors */

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
  if (self != NULL) socket_flush(self);
  return NULL;
}

/* stop(): receives no more; the queue still works. */
static napi_value method_stop(napi_env env, napi_callback_info info) {
  size_t argc = 0;
  struct udp_socket *self = this_socket(env, info, &argc, NULL);
  if (self != NULL) socket_stop(self);
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
  socket_close(self);
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

static void finalize_socket(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  free(data);
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
      socket_start(self);
  if (!is_whole && self->state == STATE_CLOSED) socket_release(self);
  return is_whole;
}

/*
 * open(host, port, flags, slots, bufferBytes, onBatch): see net/native/native-udp-addon.ts.
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

/* trimMemory(): see memory.h. Takes some milliseconds. */
static napi_value method_trim_memory(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  memory_trim();
  return NULL;
}

/* limitArenas(count): see memory.h. */
static napi_value method_limit_arenas(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argument;
  int32_t count = 0;
  if (napi_get_cb_info(env, info, &argc, &argument, NULL, NULL) != napi_ok || argc != 1 ||
      napi_get_value_int32(env, argument, &count) != napi_ok || count < 1) {
    return throw_text(env, "ERR_INVALID_ARG_VALUE", "limitArenas takes a number from 1");
  }
  memory_limit_arenas(count);
  return NULL;
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
      {.utf8name = "openClient", .method = client_method_open, .attributes = napi_enumerable},
      {.utf8name = "openSockets", .method = method_open_sockets, .attributes = napi_enumerable},
      {.utf8name = "limitArenas", .method = method_limit_arenas, .attributes = napi_enumerable},
      {.utf8name = "trimMemory", .method = method_trim_memory, .attributes = napi_enumerable},
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
