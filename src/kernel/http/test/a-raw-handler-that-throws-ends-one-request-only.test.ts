import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeLog } from '../../log.ts';
import { makePeers } from '../peer.ts';
import { makeServer } from '../server.ts';

test('a raw handler that throws ends one request, not the process', async (t) => {
  const server = makeServer({
    log: makeLog('silent'),
    peers: makePeers([]),
    raw: [
      (request, response) => {
        if (request.url === '/begun') response.writeHead(200).write('half');
        if (request.url !== '/fine') throw new Error('unforeseen');
        response.end('fine');
        return true;
      },
    ],
  });
  t.after(() => server.close());
  const url = await server.listen({ host: '127.0.0.1', port: 0 });

  const failed = await fetch(`${url}/fails`);
  assert.equal(failed.status, 503);
  assert.equal(failed.headers.get('x-error-code'), 'internal');
  assert.match(((await failed.json()) as { error: string }).error, /something went wrong on our side/);
  await assert.rejects(fetch(`${url}/begun`).then((answer) => answer.text()));
  assert.equal(await (await fetch(`${url}/fine`)).text(), 'fine');
});
