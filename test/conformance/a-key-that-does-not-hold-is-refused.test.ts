import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';
import { kinds, mintKey } from '../../src/identity/token-format.ts';
import { caller, type Quarterdeck, quarterdeck } from '../harness/index.ts';

const refused = { error: 'unauthenticated: the token is unknown, disabled, expired or revoked' };

/** Statements that look for a personal token, as PostgreSQL is sent them. */
function lookups(t: TestContext): { count: number } {
  const seen = { count: 0 };
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    if (String((args[0] as { text?: string })?.text).includes('from identity.token t')) seen.count++;
    return query.apply(this, args);
  });
  return seen;
}

const hearing = async ({ app }: Quarterdeck) => {
  while (!app.listener.hearing) await turn();
};

test('a tampered key costs no SQL, an unknown one is looked up once', async (t) => {
  const qd = await quarterdeck(t);
  await hearing(qd);
  const seen = lookups(t);
  const good = qd.owner.key;
  const flipped = good.slice(0, -1) + (good.endsWith('0') ? '1' : '0');
  const tampered = [
    flipped,
    good.slice(0, -1),
    `${good}0`,
    good.toUpperCase(),
    good.replace('_pat_', '_reg_'),
    good.replace(/.{6}$/, '000000'),
    'qd_pat_',
    'x'.repeat(5000),
    `${good}\t`.repeat(2),
  ];
  for (const key of tampered) {
    const { status, body } = await caller(qd.url, key).get('/me');
    assert.deepEqual([status, body], [401, refused], key.slice(0, 60));
  }
  assert.equal(seen.count, 0);

  const unknown = caller(qd.url, mintKey('pat').key);
  for (let i = 0; i < 5; i++) assert.equal((await unknown.get('/me')).status, 401);
  assert.equal(seen.count, 1);

  for (let i = 0; i < 5; i++) assert.equal((await qd.owner.get('/me')).status, 200);
  assert.equal(seen.count, 2);
});

test('keys of other kinds open nothing here', async (t) => {
  const qd = await quarterdeck(t);
  for (const kind of kinds) {
    const { status, body } = await caller(qd.url, mintKey(kind).key).get('/tokens');
    assert.deepEqual([status, body], [401, refused], kind);
  }
});

test('a disabled, revoked or expired key, and one of somebody removed, is refused at once', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const minted = async (expiresIn = 7200) => {
    const { id, key } = (await owner.post('/tokens', { name: 'x', expiresIn })).body as { id: string; key: string };
    const holder = { id, ...caller(qd.url, key) };
    assert.equal((await holder.get('/me')).status, 200);
    return holder;
  };
  const isRefused = async (holder: { get(path: string): Promise<{ status: number; body: unknown }> }, what: string) => {
    const { status, body } = await holder.get('/me');
    assert.deepEqual([status, body], [401, refused], what);
  };

  const disabled = await minted();
  await owner.patch(`/tokens/${disabled.id}`, { enabled: false });
  await isRefused(disabled, 'disabled');
  await owner.patch(`/tokens/${disabled.id}`, { enabled: true });
  assert.equal((await disabled.get('/me')).status, 200);

  const revoked = await minted();
  await owner.delete(`/tokens/${revoked.id}`);
  await isRefused(revoked, 'revoked');

  const removed = await qd.member(owner, 'admin');
  assert.equal((await removed.get('/me')).status, 200);
  await owner.delete(`/organization/members/${removed.userId}`);
  await isRefused(removed, 'of somebody removed');

  const [short, long] = [await minted(60), await minted(3600)];
  await qd.clock.advance('61s');
  await isRefused(short, 'expired');
  assert.equal((await long.get('/me')).status, 200);
});

test('an address that tries many keys has to wait, and good keys do not', async (t) => {
  const qd = await quarterdeck(t);
  assert.equal((await qd.owner.get('/me')).status, 200);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now); // on a slow machine the bucket would fill again meanwhile
  const wrong = caller(qd.url, 'qd_pat_wrong');
  const statuses = await Promise.all(Array.from({ length: 70 }, async () => (await wrong.get('/me')).status));
  assert.equal(statuses.filter((s) => s === 401).length, 60);
  assert.equal(statuses.filter((s) => s === 429).length, 10);

  const { status, body, headers } = await wrong.get('/me');
  assert.deepEqual(
    [status, body, headers.get('retry-after')],
    [429, { error: 'too many failed authentications from this address; try again in 1 s' }, '1'],
  );
  assert.equal((await qd.owner.get('/me')).status, 200);
});
