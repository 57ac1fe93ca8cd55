import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { bearer, listens } from './support.ts';

test('a role that is narrowed or widened while a stream is open changes what it hears', async (t) => {
  const qd = await quarterdeck(t);
  const member = await qd.member(qd.owner, 'member');
  const grant = async () => (await qd.owner.post('/iam/grants', { subject: member.userId, role: 'registry.viewer' })).body.id as string;
  const first = await grant();
  const stream = await listens(t, qd.url, bearer(member));

  assert.equal((await qd.owner.post('/registry/registries', { slug: 'heard' })).status, 201);
  assert.deepEqual(await stream.changed(), ['registry.registry']);

  assert.equal((await qd.owner.delete(`/iam/grants/${first}`)).status, 204);
  const narrowed = (await stream.next('rights')).data['kinds'] as string[];
  assert.ok(!narrowed.some((kind) => kind.startsWith('registry.')), String(narrowed));

  // It is not told of the registry: the next event is the rights that come back.
  assert.equal((await qd.owner.post('/registry/registries', { slug: 'unheard' })).status, 201);
  await grant();
  const widened = (await stream.next('rights')).data['kinds'] as string[];
  assert.ok(widened.includes('registry.registry'));
  assert.equal((await qd.owner.post('/registry/registries', { slug: 'heard-again' })).status, 201);
  assert.ok((await stream.changed()).includes('registry.registry'));
});

test('a narrowed token hears what its roles let it read, and nothing of the person behind it', async (t) => {
  const qd = await quarterdeck(t);
  const narrowed = await qd.narrowed(qd.owner, [{ role: 'uptime.viewer' }]);
  const stream = await listens(t, qd.url, bearer(narrowed), { takesHello: false });
  const kinds = (await stream.next('hello')).data['kinds'] as string[];
  assert.ok(kinds.includes('uptime.monitor') && !kinds.includes('oncall.incident') && !kinds.includes('oncall.paging'), String(kinds));
});
