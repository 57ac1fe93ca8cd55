import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { hint, hintEach } from '../../../kernel/jobs/index.ts';
import { bearer, listens } from './support.ts';

test('a thousand changes are ten notifications a second at most, and none of their kinds is lost', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const stream = await listens(t, second.url, bearer(qd.owner));
  const listener = new pg.Client(qd.connection);
  listener.on('error', () => {});
  await listener.connect();
  t.after(() => listener.end());
  const payloads: string[] = [];
  listener.on('notification', ({ payload = '' }) => {
    if (payload.includes(' news ')) payloads.push(payload);
  });
  await listener.query('listen qd_wake');

  const began = performance.now();
  const orgs = Array.from({ length: 400 }, (_, n) => `org_${String(n).padStart(26, '0')}`);
  await qd.app.db.write(async (tx) => hintEach(tx, [...orgs, qd.owner.orgId], 'email.message', 'email.suppression'));
  for (let n = 0; n < 1_000; n += 20)
    await Promise.all(
      Array.from({ length: 20 }, () => qd.app.db.write(async (tx) => hint(tx, qd.owner.orgId, 'email.message', 'oncall.incident'))),
    );
  const tookMs = performance.now() - began;
  await qd.app.db.write(async (tx) => hint(tx, qd.owner.orgId, 'clusters.node'));

  const heard = new Set<string>();
  while (!heard.has('clusters.node')) for (const kind of await stream.changed()) heard.add(kind);
  assert.deepEqual([...heard].sort(), ['clusters.node', 'email.message', 'email.suppression', 'oncall.incident']);
  await eventually(async () => payloads.some((payload) => payload.includes('clusters.node')));
  // One for each 100 ms; the first has four hundred organizations, and is four for its length.
  assert.ok(payloads.length <= tookMs / 100 + 8, `${payloads.length} in ${Math.round(tookMs)} ms`);
  assert.ok(payloads.every((payload) => Buffer.byteLength(payload) < 8_000));
  assert.ok(orgs.every((org) => payloads.some((payload) => payload.includes(`${org}:email.message,email.suppression`))));
});
