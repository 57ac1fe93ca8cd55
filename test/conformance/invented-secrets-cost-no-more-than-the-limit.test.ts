import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { type Kind, mintKey } from '../../src/identity/token-format.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

/** Beyond the limit; for personal tokens ten times as many. */
const guesses = { 'personal tokens': 600, others: 90 };
const perMinute = 60;

/** Statements that look for what a secret belongs to, as PostgreSQL is sent them. */
function lookups(t: TestContext): { count: number } {
  const seen = { count: 0 };
  const looksUp = /\b(token_|device_)?hash = \$|from oncall\.provider|from registry\.oidc_rule o/;
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    if (looksUp.test(String((args[0] as { text?: string })?.text))) seen.count++;
    return query.apply(this, args);
  });
  return seen;
}

interface Guess {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Door {
  name: string;
  guess(): Guess;
  /** Lookups of one guess. */
  each: number;
  /** How a wrong secret is answered, and how one too many is. */
  wrong: number;
  over: number;
}

const bearer = (kind: Kind) => ({ authorization: `Bearer ${mintKey(kind).key}` });
const basic = (user: string, password: string) => ({ authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` });
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const idToken = () => `${part({ alg: 'RS256' })}.${part({ iss: 'https://issuer.example', sub: randomBytes(9).toString('hex') })}.AAAA`;
/** The cookies that a page of ours sends. */
const ofPage = (cookies: Record<string, string>) => ({
  'sec-fetch-site': 'same-origin',
  cookie: Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; '),
});
const link = () => randomBytes(24).toString('base64url');

const doors: Door[] = [
  { name: 'personal tokens', guess: () => ({ path: '/api/v1/me', headers: bearer('pat') }), each: 1, wrong: 401, over: 429 },
  {
    name: 'alert sources, which are never told 429',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/oncall/alert-sources/src_00000000000000000000000000/alerts',
      headers: { ...bearer('src'), ...json },
      body: '{}',
    }),
    each: 1,
    wrong: 401,
    over: 503,
  },
  {
    name: 'export tokens',
    guess: () => ({ path: '/api/v1/uptime/export/metrics', headers: bearer('scrape') }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'registration tokens of nodes',
    guess: () => ({ method: 'POST', path: '/join/v1', headers: bearer('node') }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  { name: 'registry keys as bearer', guess: () => ({ path: '/v2/', headers: bearer('reg') }), each: 1, wrong: 401, over: 429 },
  {
    name: 'registry keys as password',
    guess: () => ({ path: '/v2/', headers: basic('rk_x', mintKey('reg').key) }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'the token service, by GET',
    guess: () => ({ path: '/token', headers: basic('rk_x', mintKey('reg').key) }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'the token service, by POST',
    guess: () => ({ method: 'POST', path: '/token', headers: form, body: `grant_type=refresh_token&refresh_token=${mintKey('reg').key}` }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'ID tokens as password',
    guess: () => ({ path: '/v2/acme/app/manifests/v1', headers: basic('oidc', idToken()) }),
    each: 3,
    wrong: 401,
    over: 429,
  },
  {
    name: 'ID tokens in an exchange',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/registry/oidc/token',
      headers: json,
      body: JSON.stringify({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: idToken(),
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        audience: 'acme',
      }),
    }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'agents’ tokens',
    guess: () => ({ method: 'POST', path: '/agent/v1/session', headers: { ...bearer('agent'), ...json }, body: '{}' }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'invitations',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/organization/invitations/accept',
      headers: json,
      body: JSON.stringify({ secret: mintKey('inv').key }),
    }),
    each: 1,
    wrong: 404,
    over: 429,
  },
  {
    name: 'invitations with a token',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/organization/invitations/accept',
      headers: { ...json, ...bearer('pat') },
      body: JSON.stringify({ secret: mintKey('inv').key }),
    }),
    each: 2,
    wrong: 404,
    over: 429,
  },
  { name: 'invitation links', guess: () => ({ path: `/join/${mintKey('inv').key}` }), each: 1, wrong: 404, over: 429 },
  { name: 'links that sign in', guess: () => ({ path: `/sign-in/link/${mintKey('once').key}` }), each: 1, wrong: 404, over: 429 },
  {
    name: 'sessions',
    guess: () => ({ path: '/api/v1/me', headers: ofPage({ qd: mintKey('sess').key }) }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'sessions on a page',
    guess: () => ({ path: '/account', headers: ofPage({ qd: mintKey('sess').key }) }),
    each: 1,
    wrong: 303,
    over: 429,
  },
  {
    name: 'sessions at the door of the console',
    guess: () => ({ path: '/o', headers: ofPage({ qd: mintKey('sess').key }) }),
    each: 1,
    wrong: 303,
    over: 429,
  },
  {
    name: 'sign-ins that wait for a code',
    guess: () => ({
      method: 'POST',
      path: '/sign-in/second',
      headers: { ...form, ...ofPage({ qd_pending: mintKey('once').key }) },
      body: 'code=123456',
    }),
    each: 1,
    wrong: 401,
    over: 429,
  },
  {
    name: 'codes of programs',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/device/tokens',
      headers: json,
      body: JSON.stringify({ deviceCode: mintKey('dev').key }),
    }),
    each: 1,
    wrong: 404,
    over: 429,
  },
  { name: 'links for a new password', guess: () => ({ path: `/sign-in/reset/${mintKey('once').key}` }), each: 1, wrong: 404, over: 429 },
  { name: 'links that confirm', guess: () => ({ path: `/status/acme/confirm/${link()}` }), each: 1, wrong: 404, over: 429 },
  {
    name: 'links that unsubscribe',
    guess: () => ({ method: 'POST', path: `/status/acme/unsubscribe/${link()}` }),
    each: 1,
    wrong: 200,
    over: 429,
  },
  {
    name: 'a provider’s callbacks, whose signers are remembered',
    guess: () => ({
      method: 'POST',
      path: '/api/v1/oncall/twilio/org_x/sms',
      headers: { ...form, 'x-twilio-signature': link() },
      body: 'From=1',
    }),
    each: 0,
    wrong: 403,
    over: 403,
  },
  {
    name: 'the token of the metrics',
    guess: () => ({ path: '/metrics', headers: { authorization: `Bearer ${link()}` } }),
    each: 0,
    wrong: 401,
    over: 429,
  },
  { name: 'links that acknowledge, which are sealed', guess: () => ({ path: `/oncall/ack/${link()}` }), each: 0, wrong: 404, over: 404 },
];

/** All at once, as far as the machine lets us: more than the limit in any case. */
async function all(qd: Quarterdeck, agent: http.Agent, door: Door, from: string): Promise<Map<number, number>> {
  const { hostname, port } = new URL(qd.url);
  const one = ({ method = 'GET', path, headers = {}, body }: Guess) =>
    new Promise<number>((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      http
        .request(
          {
            agent,
            hostname,
            port,
            method,
            path,
            headers: { ...headers, ...length, 'x-forwarded-for': from, 'x-forwarded-proto': 'https' },
            timeout: 60_000,
          },
          (answer) => {
            if (answer.statusCode === 429 || answer.statusCode === 503)
              assert.match(String(answer.headers['retry-after']), /^\d+$/, `${door.name}: without Retry-After`);
            answer.resume().on('end', () => resolve(answer.statusCode!));
          },
        )
        .on('error', reject)
        .end(body);
    });
  const statuses = await Promise.all(
    Array.from({ length: door.name === 'personal tokens' ? guesses['personal tokens'] : guesses.others }, () => one(door.guess())),
  );
  return new Map([...Map.groupBy(statuses, (status) => status)].map(([status, of]) => [status, of.length]));
}

test('hundreds of invented secrets at once cost no more statements than an address may be wrong, at every door', {
  timeout: 300_000,
}, async (t) => {
  const env = { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_ROLES: 'api,registry', QUARTERDECK_METRICS_TOKEN: 'look' };
  const qd = await quarterdeck(t, { env });
  const { id } = (await qd.owner.post('/oncall/services', { name: 'shop' })).body as { id: string };
  assert.equal((await qd.owner.post('/status-pages', { slug: 'acme', title: 'Acme', serviceIds: [id] })).status, 201);
  assert.equal((await fetch(`${qd.url}/status/acme`)).status, 200);
  const callback = { method: 'POST', headers: { ...form, 'x-twilio-signature': link() }, body: 'From=1' };
  assert.equal((await fetch(`${qd.url}/api/v1/oncall/twilio/org_x/sms`, callback)).status, 403);
  const log = t.mock.method(qd.app.log, 'error').mock;
  const seen = lookups(t);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now); // no bucket fills again meanwhile

  const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
  t.after(() => agent.destroy());
  for (const [n, door] of doors.entries()) {
    const before = seen.count;
    const answers = await all(qd, agent, door, `192.0.2.${n + 1}`);
    const cost = seen.count - before;
    t.diagnostic(`${door.name}: ${cost} lookups, ${JSON.stringify([...answers])}`);
    assert.equal(cost, door.each * perMinute, door.name);
    assert.deepEqual([...answers.keys()].sort(), [...new Set([door.wrong, door.over])].sort(), door.name);
    if (door.over !== door.wrong) assert.equal(answers.get(door.wrong), perMinute, door.name);
  }
  assert.equal(log.callCount(), 0, 'and no line of the log');
});
