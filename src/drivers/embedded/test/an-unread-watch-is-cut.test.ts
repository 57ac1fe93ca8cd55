import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('a watch whose client does not read is cut, and other watches continue', async (t) => {
  const { call, port, ca, admin, cluster } = await embedded(t);
  const reader = openWatch(port, ca, admin, `${maps}?watch=1`);
  const slow = connect({ host: '127.0.0.1', port, ca: ca.certificate, cert: admin.cert, key: admin.key });
  await once(slow, 'secureConnect');
  slow.write(`GET ${maps}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await once(slow, 'data'); // the headers; from here on the client reads nothing
  slow.pause();

  const text = 'x'.repeat(1_000_000);
  let made = 0;
  // The kernel's buffers take some of it; then the server's buffer fills up to its limit.
  while (made < 30) await call('POST', maps, configMap(`m${made++}`, { text }));
  await reader.until(made);
  let taken = 0;
  slow.on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  slow.resume();
  await once(slow, 'close').catch(() => {});
  assert.ok(taken < 25_000_000, `it was sent ${taken} bytes of ${made} megabytes before it was cut`);
  assert.equal((await call('GET', '/version')).status, 200);
  assert.equal(cluster.figures().errors, 0);
});
