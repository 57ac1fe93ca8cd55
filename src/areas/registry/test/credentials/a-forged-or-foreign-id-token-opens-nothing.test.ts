import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcIssuer } from '../../../../../test/fakes/oidc-issuer.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';
import { basic, tokenFor } from '../credentials.ts';

test('a forged or foreign ID token opens nothing, and the answer gives no reason', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const { owner, anonymous, url, app } = qd;
  const time = async () => Date.parse(await app.db.read(now));
  const issuer = await oidcIssuer(t, time);
  const other = await oidcIssuer(t, time);
  await owner.post('/registry/registries', { slug: 'acme' });
  await owner.post('/registry/registries', { slug: 'ruleless' });
  const rule = { issuer: issuer.url, audience: 'quarterdeck', subjectPattern: 'repo:acme/app:ref:refs/heads/*', mode: 'pull' };
  assert.equal((await owner.post('/registry/registries/acme/oidc-rules', rule)).status, 201);

  const exchange = (subject_token: string, audience = 'acme', more = {}) =>
    anonymous.post('/registry/oidc/token', { subject_token, audience, ...more });
  assert.equal((await exchange(await issuer.token())).status, 200);

  const good = await issuer.token();
  const [head, body, signature] = good.split('.') as [string, string, string];
  const resigned = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: 'repo:acme/app:ref:refs/heads/evil' }),
  ).toString('base64url');
  const bad: Record<string, string> = {
    'another subject': await issuer.token({ sub: 'repo:evil/app:ref:refs/heads/main' }),
    'a subject that goes on': await issuer.token({ sub: 'repo:acme/app:ref:refs/heads/main:environment:x' }),
    'no subject': await issuer.token({ sub: undefined }),
    'another audience': await issuer.token({ aud: 'sts.example' }),
    'no audience': await issuer.token({ aud: undefined }),
    'over for long': await issuer.token({}, { expiresIn: -120 }),
    'not yet': await issuer.token({ nbf: Math.floor((await time()) / 1000) + 600 }),
    'issued in ten minutes': await issuer.token({ iat: Math.floor((await time()) / 1000) + 600 }),
    'good for ten years': await issuer.token({}, { expiresIn: 10 * 365 * 86_400 }),
    'without an end': await issuer.token({ exp: undefined }),
    unsigned: await issuer.token({}, { alg: 'none' }),
    'signed with the public key as a secret': await issuer.token({}, { alg: 'HS256' }),
    'signed by a stranger under a known key id': await issuer.token({}, { stranger: true }),
    'an unknown key id': await issuer.token({}, { kid: 'nobody', stranger: true }),
    'of another issuer that says it is this one': await other.token({ iss: issuer.url }),
    'of an issuer without rules': await other.token(),
    'changed after signing': `${head}.${resigned}.${signature}`,
    'signature cut off': `${head}.${body}.`,
    'no token at all': 'x.y.z',
  };
  const sentences = new Set<string>();
  for (const [what, token] of Object.entries(bad)) {
    const answer = await exchange(token);
    assert.equal(answer.status, 401, what);
    sentences.add(answer.body.error);
    assert.equal((await tokenFor(url, basic('oidc', token), ['repository:acme/app:pull'])).status, 401, what);
  }
  assert.equal(sentences.size, 1, 'one sentence for every failure');
  assert.equal((await exchange(good, 'ruleless')).status, 401, 'no rule there');
  assert.equal((await exchange(good, 'nowhere')).status, 401, 'no such registry');
  assert.equal((await exchange(good, 'acme', { scope: 'readwrite' })).status, 401, 'more than the rule gives');
  assert.ok(issuer.asked.keys <= 2, `made-up key ids do not turn us against the issuer (${issuer.asked.keys} fetches)`);
  assert.equal(other.asked.discovery, 0, 'an issuer without a rule is not asked');

  const refused =
    (await owner.get('/organization/audit?limit=200')).body.entries ?? (await owner.get('/organization/audit?limit=200')).body.audit;
  assert.ok(JSON.stringify(refused).includes('repo:evil/app'), 'the organization reads in its audit log why a genuine token did not fit');
});

test('a signed claim of another type is refused and is no internal error', async (t) => {
  const { owner, anonymous, url, app } = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const issuer = await oidcIssuer(t, async () => Date.parse(await app.db.read(now)));
  await owner.post('/registry/registries', { slug: 'acme' });
  const rule = { issuer: issuer.url, audience: 'quarterdeck', subjectPattern: 'repo:acme/app:ref:refs/heads/*', mode: 'pull' };
  assert.equal((await owner.post('/registry/registries/acme/oidc-rules', rule)).status, 201);
  const failures = t.mock.method(app.log, 'error');

  // Including text that PostgreSQL cannot store.
  const odd: unknown[] = [null, 7, [7], [[]], {}, 'a\0b', 'a\ud800', ['quarterdeck', 7]];
  const bad: Record<string, unknown>[] = ['iss', 'sub', 'aud'].flatMap((claim) => odd.map((value) => ({ [claim]: value })));
  for (const claim of ['iat', 'nbf', 'exp']) for (const value of ['now', [7], 1e300]) bad.push({ [claim]: value });
  for (const claims of bad) {
    const answer = await anonymous.post('/registry/oidc/token', { subject_token: await issuer.token(claims), audience: 'acme' });
    assert.equal(answer.status, 401, JSON.stringify(claims));
  }
  for (const [user, claims] of [
    ['oidc', { sub: 7 }], // a login that names no registry
    ['oidc', { aud: {} }],
    ['oidc+acme', { sub: [] }],
    ['oidc+a\0b', {}],
  ] as const)
    assert.equal((await tokenFor(url, basic(user, await issuer.token(claims)), [])).status, 401, `${user} ${JSON.stringify(claims)}`);
  assert.deepEqual(failures.mock.calls, []);

  const long = `repo:acme/app:ref:refs/heads/${'😀'.repeat(90)}`;
  const answer = await anonymous.post('/registry/oidc/token', { subject_token: await issuer.token({ sub: long }), audience: 'acme' });
  assert.equal(answer.status, 200, 'a subject that is cut in the middle of a character for the audit');
});

test('an issuer that misbehaves is an answer, not a hang', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'oidc=127.0.0.0/8' } });
  const { owner, anonymous, app } = qd;
  const time = async () => Date.parse(await app.db.read(now));
  await owner.post('/registry/registries', { slug: 'acme' });
  const modes = ['huge', 'down', 'not-json', 'another-issuer'] as const;
  for (const mode of modes) {
    const issuer = await oidcIssuer(t, time);
    issuer.behave(mode);
    await owner.post('/registry/registries/acme/oidc-rules', {
      issuer: issuer.url,
      audience: 'quarterdeck',
      subjectPattern: 'repo:acme/**',
      mode: 'pull',
    });
    const ask = async () => anonymous.post('/registry/oidc/token', { subject_token: await issuer.token(), audience: 'acme' });
    assert.equal((await ask()).status, 502, mode);
    const before = issuer.asked.discovery;
    assert.equal((await ask()).status, 502, mode);
    assert.equal(issuer.asked.discovery, before, `${mode}: it is left alone for a while`);
  }
  const gone = await oidcIssuer(t, time);
  await owner.post('/registry/registries/acme/oidc-rules', {
    issuer: gone.url,
    audience: 'quarterdeck',
    subjectPattern: 'repo:acme/**',
    mode: 'pull',
  });
  const ask = async () => anonymous.post('/registry/oidc/token', { subject_token: await gone.token(), audience: 'acme' });
  gone.behave('no-keys');
  assert.equal((await ask()).status, 401);
});
