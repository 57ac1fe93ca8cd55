// A process of its own: something to check, over http and https. Prints its ports and ends when stdin does.
import { createServer } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { authority } from '../../src/kernel/guard/test/certificates.ts';

const ca = authority('bench');
const { cert, key } = ca.issue(['localhost', '127.0.0.1']);
const page = 'x'.repeat(512);
const listening = (server: Server) =>
  new Promise<number>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => resolve((server.address() as AddressInfo).port)),
  );

const answer = (_: unknown, response: { end(text: string): unknown }) => response.end(page);
const http = await listening(createServer(answer));
// The key exchange that everybody speaks, so that two probers make the same handshake; and what OpenSSL prefers, ML-KEM and X25519 together.
const https = await listening(createHttps({ cert, key, ecdhCurve: 'X25519' }, answer));
const hybrid = await listening(createHttps({ cert, key }, answer));
console.log(JSON.stringify({ http, https, hybrid, ca: ca.cert }));
process.stdin.on('end', () => process.exit(0)).resume();
