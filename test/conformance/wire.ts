import http from 'node:http';
import net from 'node:net';
import { eventStream } from '../../contract/common.ts';

/** A request as it goes over the wire: nothing is normalized, encoded or refused on our side. */
export interface Wire {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: Buffer | string | undefined;
}

export interface WireAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** Connections are kept and shared, as many as there are callers at once. */
export function wire(url: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
  const { hostname, port } = new URL(url);
  const send = ({ method, path, headers = {}, body }: Wire): Promise<WireAnswer> =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const request = http.request(
        { agent, hostname, port, method, path, headers: { ...length, ...headers }, timeout: 20_000 },
        (response) => {
          const chunks: Buffer[] = [];
          const answered = () =>
            resolve({ status: response.statusCode!, headers: response.headers, text: Buffer.concat(chunks).toString() });
          // A stream of events has no end: its first piece is the answer.
          const isEndless = response.headers['content-type'] === eventStream;
          response
            .on('data', (chunk: Buffer) => {
              chunks.push(chunk);
              if (isEndless) response.destroy();
            })
            .on(isEndless ? 'close' : 'end', answered)
            .on('error', (error) => (isEndless ? answered() : reject(error)));
        },
      );
      request.on('timeout', () => request.destroy(new Error(`no answer to ${method} ${path} in 20 s`))).on('error', reject);
      request.end(body);
    });
  return { send, close: () => agent.destroy() };
}

/** Bytes on a socket, and everything that comes back until the server closes: for what is not HTTP. */
export function raw(url: string, write: (socket: net.Socket) => void): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = net.connect({ host: hostname, port: Number(port) }, () => write(socket));
    socket.setTimeout(20_000, () => socket.destroy(new Error('the server neither answered nor closed in 20 s')));
    socket
      .on('data', (chunk) => (text += chunk.toString('latin1')))
      .on('error', (error) => (text ? resolve(text) : reject(error)))
      .on('close', () => resolve(text));
  });
}

/** The parts of what `raw` heard. */
export function parse(text: string): WireAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 1).trim()]));
  return { status: Number(line.split(' ')[1]), headers, text: rest.join('\r\n\r\n') };
}
