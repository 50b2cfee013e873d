/*
 * The client side of the add-on: connected sockets towards servers (client-sockets.h), owned by one
 * event loop, whose datagrams reach JavaScript in batches over all sockets.
 *
 *      kernel                    this add-on                     JavaScript (net/transport/native-udp-client.ts)
 *   sockets readable --epoll--> its descriptor readable
 *                                  --uv_poll--> on_poll, at most ROUNDS_MAX times:
 *   receive buffers --recvmmsg----> slots
 *                                     napi_make_callback ------> onBatch(count)
 *                                                                reads slots, opens, closes, queues
 *   send buffers   <--sendmmsg----- queue  <------------------- flush(), once a turn of the loop
 *
 * Lifetimes are those of udp-socket.c: references hold object, block and callback until the handle
 * is closed, and a thread that ends closes it by an asynchronous cleanup hook.
 */
#ifndef SLUICE_CLIENT_H
#define SLUICE_CLIENT_H

#include <node_api.h>

/* openClient(onBatch): see net/native/native-udp-addon.ts. `instance` data as in udp-socket.h. */
napi_value client_method_open(napi_env env, napi_callback_info info);

#endif
