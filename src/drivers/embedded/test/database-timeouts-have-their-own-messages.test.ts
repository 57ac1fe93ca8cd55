import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRace } from '../../../../test/harness/race.ts';
import { asUnavailable } from '../../../kernel/db/errors.ts';
import type { Cluster } from '../engine/cluster.ts';
import { toApiError } from '../planes/serve.ts';
import { configMap, embedded } from './support.ts';

test('a lock timeout and a slow statement have messages of their own, apart from an unreachable database', async (t) => {
  const { call, deck } = await embedded(t);
  const maps = '/api/v1/namespaces/default/configmaps';
  assert.equal((await call('GET', maps)).status, 200);
  const race = await openRace(deck.connection);
  t.after(race.close);
  await race.hold('select from clusters.object_space for update');
  const late = await call('POST', maps, configMap('late', {}));
  await race.release();
  assert.equal(late.status, 503);
  assert.equal(late.body.message, 'somebody else is changing the same thing at this moment; try again in a moment');
  assert.equal(late.headers['retry-after'], '2');
  assert.equal((await call('GET', `${maps}/late`)).status, 404);

  const said = (code: string) => toApiError({} as Cluster, asUnavailable(Object.assign(new Error(code), { code }))).message;
  assert.match(said('57014'), /took too long/);
  assert.match(said('53100'), /disk of the database is full/);
  assert.match(said('08006'), /the database is away/);
});
