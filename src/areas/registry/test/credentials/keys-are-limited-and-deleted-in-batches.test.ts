import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { oidcIssuer } from '../../../../../test/fakes/oidc-issuer.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { hashKey } from '../../../../identity/token-format.ts';
import { row, run } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { forgetOldKeys } from '../../engine/credentials/keys.ts';
import { maxJobKeysPerRegistry } from '../../store/limits.ts';
import { basic, tokenFor } from '../credentials.ts';

const unaborted = new AbortController().signal;

test('keys minted by jobs are limited, end with their rule, and are deleted in batches', async (t) => {
  const { owner, anonymous, url, clock, app } = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const issuer = await oidcIssuer(t, async () => Date.parse(await app.db.read(now)));
  await owner.post('/registry/registries', { slug: 'acme' });
  const byHand = (await owner.post('/registry/registries/acme/keys', { name: 'old', mode: 'pull' })).body.keyId;
  const rules = '/registry/registries/acme/oidc-rules';
  const wanted = { issuer: issuer.url, audience: 'quarterdeck', subjectPattern: 'repo:acme/*:ref:refs/heads/main', mode: 'pull' };
  const rule = (await owner.post(rules, wanted)).body;
  const exchange = async () => anonymous.post('/registry/oidc/token', { subject_token: await issuer.token(), audience: 'acme' });
  const { username, password } = (await exchange()).body;

  /** Inserts copies of the minted key. */
  const clone = (from: number, to: number) =>
    app.db.write(
      (tx) => run(tx)`
        insert into registry.registry_key
        select (jsonb_populate_record(k, jsonb_build_object('key_id', 'rk_zz' || n, 'hash', sha256(('clone ' || n)::bytea)))).*
          from registry.registry_key k, generate_series(${from}::int, ${to}::int) n where k.key_id = ${username}`,
    );
  const count = async (where: 'living' | 'all') =>
    (await app.db.read(
      (tx) => row(tx, Type.Object({ n: Type.Integer() }))`
        select count(*)::int as n from registry.registry_key where ${where === 'all'} or (revoked_at is null and minted_via = 'oidc')`,
    ))!.n;

  await clone(1, maxJobKeysPerRegistry - 2);
  const answers = await Promise.all([exchange(), exchange(), exchange()]);
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 429, 429], JSON.stringify(answers.map((a) => a.body)));
  assert.match(JSON.stringify(answers.find((a) => a.status === 429)!.body), /5000 keys for the registry acme/);

  const listed = (await owner.get('/registry/registries/acme/keys')).body.keys as { keyId: string }[];
  assert.equal(listed.length, 1_001);
  assert.ok(
    listed.some((k) => k.keyId === byHand),
    'no number of jobs hides a key that still opens something',
  );

  const scope = ['repository:acme/app:pull'];
  assert.equal((await tokenFor(url, basic(username, password), scope)).status, 200);
  assert.equal((await owner.delete(`${rules}/${rule.id}`)).status, 204);
  assert.equal((await tokenFor(url, basic(username, password), scope)).status, 401);
  await eventually(async () => (await count('living')) === 0);
  // As if the job had not reached it yet.
  await app.db.write((tx) => run(tx)`update registry.registry_key set revoked_at = null where hash = ${hashKey(password)}`);
  await owner.post(rules, wanted);
  assert.equal((await tokenFor(url, basic(username, password), scope)).status, 401, 'a key opens nothing without its rule');

  await owner.post('/registry/login-credentials', {});
  await clock.advance('26h');
  await forgetOldKeys(app.db, unaborted);
  // The task of the server may be at the same rows, and each leaves the other its batch.
  await eventually(async () => (await count('all')) === maxJobKeysPerRegistry + 1);
  await clock.advance('90d');
  await forgetOldKeys(app.db, unaborted);
  await eventually(async () => (await count('all')) === 1);
});
