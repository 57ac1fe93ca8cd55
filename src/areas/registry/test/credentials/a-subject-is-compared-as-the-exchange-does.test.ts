import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcIssuer } from '../../../../../test/fakes/oidc-issuer.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';

test('what would be admitted is what the exchange admits, by the same rule', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const { owner, anonymous, app, narrowed, organization } = qd;
  const issuer = await oidcIssuer(t, async () => Date.parse(await app.db.read(now)));
  await owner.post('/registry/registries', { slug: 'acme' });
  const rules = '/registry/registries/acme/oidc-rules';
  const make = async (subjectPattern: string, mode: string, more: object = {}): Promise<number> => {
    const made = await owner.post(rules, { issuer: issuer.url, audience: 'quarterdeck', subjectPattern, mode, ...more });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body.id;
  };
  const any = await make('repo:acme/*:**', 'pull');
  const main = await make('repo:acme/*:ref:refs/heads/main', 'readwrite');
  const elsewhere = await make('repo:acme/app:**', 'readwrite', { audience: 'elsewhere' });

  const match = (body: object, by = owner) => by.post(`${rules}/match`, body);
  const claims = { issuer: issuer.url, audience: 'quarterdeck' };
  for (const [sub, mode] of [
    ['repo:acme/app:ref:refs/heads/main', undefined],
    ['repo:acme/app:ref:refs/heads/main', 'pull'],
    ['repo:acme/app:ref:refs/heads/feature', undefined],
    ['repo:acme/app:ref:refs/heads/feature', 'readwrite'],
    ['repo:acme/app', undefined],
    ['repo:stranger/app:ref:refs/heads/main', undefined],
  ] as const) {
    const asked = await match({ ...claims, subject: sub, ...(mode ? { mode } : {}) });
    assert.equal(asked.status, 200, JSON.stringify(asked.body));
    const given = await anonymous.post('/registry/oidc/token', {
      subject_token: await issuer.token({ sub }),
      audience: 'acme',
      ...(mode ? { scope: mode } : {}),
    });
    assert.equal(asked.body.admitted, given.status === 200, `${sub} ${mode}`);
    if (given.status !== 200) continue;
    assert.equal(asked.body.mode, given.body.mode);
    const { entries } = (await owner.get('/organization/audit')).body;
    assert.equal(entries.find((e: { target: string }) => e.target === given.body.keyId).detail.rule, asked.body.ruleId);
  }

  const told = (await match({ ...claims, subject: 'repo:acme/app:ref:refs/heads/feature' })).body;
  assert.deepEqual([told.admitted, told.ruleId, told.mode], [true, any, 'pull']);
  assert.deepEqual(
    told.rules.map((r: { id: number; matches: boolean; mismatch?: string }) => [r.id, r.matches, r.mismatch]),
    [
      [any, true, undefined],
      [main, false, 'subject'],
      [elsewhere, false, 'audience'],
    ],
  );
  const stranger = (await match({ ...claims, issuer: 'https://ci.example', subject: 'repo:acme/app:x' })).body;
  assert.deepEqual([stranger.admitted, stranger.rules[0].mismatch], [false, 'issuer']);
  assert.equal((await match({ subject: 'repo:acme/app:x' })).body.ruleId, elsewhere, 'what is left out is not compared');

  // A pattern before it is saved.
  const github = 'https://token.actions.githubusercontent.com';
  const subject = 'repo:acme/app:ref:refs/heads/main';
  assert.deepEqual((await match({ subject, subjectPattern: 'repo:acme/app:**' })).body, { admitted: true, rules: [] });
  assert.deepEqual((await match({ subject, subjectPattern: 'repo:acme/web:**' })).body, { admitted: false, rules: [] });
  const broad = await match({ subject, issuer: github, subjectPattern: 'repo:**' });
  assert.equal(broad.status, 400);
  assert.match(broad.body.error, /^subjectPattern: everybody's jobs come from/);
  assert.match((await match({ subject, subjectPattern: `job${':*x'.repeat(17)}` })).body.error, /at most 16 wildcards/);
  assert.equal((await match({ subject: 'x'.repeat(2_049) })).status, 400);

  assert.equal((await match({ subject }, await organization('neighbour'))).status, 404);
  assert.equal((await match({ subject }, await narrowed(owner, [{ role: 'registry.viewer', resourceIds: ['reg_other'] }]))).status, 403);
  assert.equal((await match({ subject }, await narrowed(owner, [{ role: 'uptime.viewer' }]))).status, 403);
});
