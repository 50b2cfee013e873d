/**
 * The one way from a door to the service: checks the method and the caller's right, calls, and turns
 * every failure into its wire form. IPC, HTTP and through it the command line answer alike because
 * they all come through here. The service checks the arguments by the method's schema.
 */
import { AppError, toWire, type WireError } from '../contract/errors.ts';
import { METHODS } from '../contract/methods/methods.ts';
import type { Caller, MethodInput, MethodName, MethodOutput } from '../contract/methods/methods.ts';

/** What takes the calls: the service. */
export interface Callee {
  call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
    caller: Caller,
  ): Promise<MethodOutput<Name>>;
}

/** An answer as it crosses a door. */
export type Reply =
  | { readonly ok: true; readonly value: MethodOutput<MethodName> }
  | { readonly ok: false; readonly error: WireError };

/** Never rejects. @param name,input  as they came, unchecked */
export async function dispatch(
  service: Callee,
  caller: Caller,
  name: unknown,
  input: unknown,
): Promise<Reply> {
  try {
    const method = methodNamed(name);
    refuse(method, caller);
    const value = await service.call(method, (input ?? {}) as MethodInput<typeof method>, caller);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

/** @throws AppError NOT_ALLOWED, LOCAL_ONLY */
function refuse(method: MethodName, caller: Caller): void {
  const { permission } = METHODS[method];
  if (permission !== 'read' && caller.permission === 'read') {
    throw new AppError('NOT_ALLOWED', `${method} changes something, and this caller may only read`);
  }
  if (permission === 'local' && !caller.isLocal) {
    throw new AppError('LOCAL_ONLY', `${method} works from the command line on that machine only`);
  }
}

/** @throws AppError METHOD_UNKNOWN */
export function methodNamed(name: unknown): MethodName {
  if (typeof name === 'string' && Object.hasOwn(METHODS, name)) return name as MethodName;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : typeof name;
  throw new AppError('METHOD_UNKNOWN', `no method has the name ${shown}`);
}
