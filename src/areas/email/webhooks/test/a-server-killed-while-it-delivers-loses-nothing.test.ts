import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { withoutOthers } from '../../test/mail-scene.ts';
import { deliveriesOf, endpointAt, isSigned, listening, ofLoopback, suppressAnAddress, untilDelivery } from './listening.ts';

test('a server killed while it delivers loses nothing: the other one makes that attempt again, under the same id', {
  timeout: 120_000,
}, async (t) => {
  const api = await quarterdeck(t, { env: { ...ofLoopback, QUARTERDECK_ROLES: 'api' } });
  const endpoint = await listening(t);
  const { secret } = await endpointAt(api.owner, endpoint.url, 'suppression.created');
  const env = { ...ofLoopback, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: 'http://localhost', QUARTERDECK_LOG_LEVEL: 'silent' };
  const { dir, dataDir } = await scratch(t);
  await cp(api.dataDir, dataDir, { recursive: true });
  const first = serverProcess(t, {
    dir,
    dataDir,
    nodeFlags: withoutOthers,
    env: { ...env, QUARTERDECK_DATABASE_URL: urlOf(api.connection) },
  });
  await first.ready;

  // The endpoint takes the event, and its answer is never read.
  endpoint.answer = () => {};
  await suppressAnAddress(api.owner);
  await endpoint.heard(1);
  assert.equal((await deliveriesOf(api.owner))[0]!.state, 'delivering');
  await first.killed();

  endpoint.answer = (response) => response.writeHead(200).end();
  const heir = await quarterdeck(t, { connection: api.connection, dataDir: api.dataDir, env }); // in this process: it does the same
  await api.clock.advance('61s'); // the lease of the one that is gone
  const [before, again] = await endpoint.heard(2);
  assert.deepEqual([again!.id, again!.body], [before!.id, before!.body]);
  assert.ok(isSigned(again!, secret));
  const done = await untilDelivery(api.owner, (d) => d.state === 'delivered');
  assert.equal(done.attempts, 1, 'the repetition is the same attempt');
  await heir.stop();
});
