/*
 * Calls into JavaScript from the event loop, as the sockets of this add-on make them: one function
 * with one number, and what to do when it throws.
 */
#ifndef SLUICE_CALLBACK_H
#define SLUICE_CALLBACK_H

#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>

/* Hands an exception of a callback to 'uncaughtException'; does nothing without one. */
void callback_report_exception(napi_env env);

/*
 * Calls a referenced function of a referenced object with one number. False when it threw, or when
 * the environment can run no more JavaScript; the first leaves an exception pending, the second
 * does not. Needs an open handle scope.
 */
bool callback_call(napi_env env, napi_async_context context, napi_ref object, napi_ref function,
                   int32_t number);

/* Lets go of a reference, if there is one. */
void callback_delete_reference(napi_env env, napi_ref *reference);

#endif
