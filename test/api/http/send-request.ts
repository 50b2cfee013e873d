/** Sends HTTP requests of any form, unlike fetch: any header, verb and target. */
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export function sendRequest(
  url: string,
  method: string,
  headers: OutgoingHttpHeaders = {},
  body: string | Buffer = '',
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.end(body);
  });
}

/** Sends bytes and returns all that comes until the other side ends. @param http  base URL */
export function sendRaw(http: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(http);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (part: string) => (text += part));
    socket.on('error', reject);
    socket.on('close', () => {
      resolve(text);
    });
    socket.write(bytes);
  });
}
