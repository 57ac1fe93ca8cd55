import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { limits } from '../engine/cluster.ts';
import { configMap, embedded } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('a list whose client does not read is cut after a timeout, and its memory is freed', async (t) => {
  const { call, port, ca, admin } = await embedded(t);
  const originalTimeoutMs = limits.unreadTimeoutMs;
  limits.unreadTimeoutMs = 300;
  t.after(() => {
    limits.unreadTimeoutMs = originalTimeoutMs;
  });
  const text = 'x'.repeat(1_000_000);
  for (let i = 0; i < 20; i++) await call('POST', maps, configMap(`m${i}`, { text }));

  const silent = connect({ host: '127.0.0.1', port, ca: ca.certificate, cert: admin.cert, key: admin.key });
  silent.on('error', () => {});
  await once(silent, 'secureConnect');
  silent.write(`GET ${maps} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(silent, 'data');
  silent.pause();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  let taken = 0;
  silent.on('data', (chunk: Buffer) => {
    taken += chunk.length;
  });
  silent.resume();
  await once(silent, 'close');
  assert.ok(taken < 20_000_000, `it was sent ${taken} bytes although it had not read`);
  assert.equal((await call('GET', '/version')).status, 200);
});
