/**
 * The one way from a door to the service: checks the method and the caller's right, calls, and turns
 * every failure into its wire form. IPC, HTTP and through it the command line answer alike because
 * they all come through here. The service checks the arguments by the method's schema.
 */
import { AppError, toWire, type WireError } from '../contract/errors.ts';
import { METHODS } from '../contract/methods.ts';
import type { MethodInput, MethodName, MethodOutput, ServiceClient } from '../contract/methods.ts';

/** Who calls, and what they may do. */
export interface Caller {
  readonly permission: 'read' | 'write';
}

/** An answer as it crosses a door. */
export type Reply =
  | { readonly ok: true; readonly value: MethodOutput<MethodName> }
  | { readonly ok: false; readonly error: WireError };

/** Never rejects. @param name,input  as they came, unchecked */
export async function dispatch(
  service: Pick<ServiceClient, 'call'>,
  caller: Caller,
  name: unknown,
  input: unknown,
): Promise<Reply> {
  try {
    const method = methodNamed(name);
    if (METHODS[method].permission === 'write' && caller.permission === 'read') {
      throw new AppError(
        'NOT_ALLOWED',
        `${method} changes something, and this caller may only read`,
      );
    }
    const value = await service.call(method, (input ?? {}) as MethodInput<typeof method>);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

/** @throws AppError METHOD_UNKNOWN */
export function methodNamed(name: unknown): MethodName {
  if (typeof name === 'string' && Object.hasOwn(METHODS, name)) return name as MethodName;
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : typeof name;
  throw new AppError('METHOD_UNKNOWN', `no method has the name ${shown}`);
}
