#include "callback.h"

void callback_report_exception(napi_env env) {
  bool is_pending = false;
  napi_value error;
  if (napi_is_exception_pending(env, &is_pending) != napi_ok || !is_pending) return;
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok) return;
  (void)napi_fatal_exception(env, error);
}

bool callback_call(napi_env env, napi_async_context context, napi_ref object, napi_ref function,
                   int32_t number) {
  napi_value receiver;
  napi_value called;
  napi_value argument;
  if (napi_get_reference_value(env, object, &receiver) != napi_ok) return false;
  if (napi_get_reference_value(env, function, &called) != napi_ok) return false;
  if (receiver == NULL || called == NULL) return false;
  if (napi_create_int32(env, number, &argument) != napi_ok) return false;
  return napi_make_callback(env, context, receiver, called, 1, &argument, NULL) == napi_ok;
}

void callback_delete_reference(napi_env env, napi_ref *reference) {
  if (*reference != NULL) (void)napi_delete_reference(env, *reference);
  *reference = NULL;
}
