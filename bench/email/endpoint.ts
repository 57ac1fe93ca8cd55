/** An endpoint for webhooks, as a program: `/quick` answers at once, `/hangs` never; a line of `address time` for each event that it hears. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  if (request.url === '/hangs') return;
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    response.end();
    console.log(`${JSON.parse(body).data.suppression?.address} ${performance.timeOrigin + performance.now()}`);
  });
});
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
process.stdin.resume().on('end', () => process.exit());
