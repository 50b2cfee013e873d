/**
 * Turns the system's refusal to bind a listener into an error that says what a person can do.
 * Called by the listeners, before they serve anything.
 */
import { AppError } from '../../contract/errors.ts';
import { portTakenAdvice, type ListenerPurpose } from './port-advice.ts';
import { describeHolder, findPortHolder } from './port-holder.ts';
import { formatEndpoint } from '../server-address.ts';

/**
 * @param cause    as emitted by node:dgram or node:net
 * @param isRetry  who holds the port is known already, and not looked for
 * @returns        PORT_IN_USE, PORT_FORBIDDEN or ADDRESS_UNAVAILABLE
 */
export function bindError(
  cause: NodeJS.ErrnoException,
  transport: 'udp' | 'tcp',
  address: string,
  port: number,
  purpose: ListenerPurpose = 'dns',
  isRetry = false,
): AppError {
  const where = `${formatEndpoint(address, port)} (${transport.toUpperCase()})`;
  switch (cause.code) {
    case 'EADDRINUSE': {
      if (isRetry)
        return new AppError('PORT_IN_USE', `cannot listen on ${where}: it is used`, cause);
      const holder = findPortHolder(transport, address, port);
      const said = `cannot listen on ${where}: it is used ${describeHolder(holder)}`;
      const advice = portTakenAdvice(holder, purpose, address, port);
      return new AppError('PORT_IN_USE', `${said}; ${advice}`, cause);
    }
    case 'EACCES':
    case 'EPERM':
      return new AppError(
        'PORT_FORBIDDEN',
        `cannot listen on ${where}: this user may not bind port ${String(port)}`,
        cause,
      );
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return new AppError(
        'ADDRESS_UNAVAILABLE',
        `cannot listen on ${where}: this machine does not have the address ${address}`,
        cause,
      );
    default:
      return new AppError('INTERNAL', `cannot listen on ${where}: ${cause.message}`, cause);
  }
}
