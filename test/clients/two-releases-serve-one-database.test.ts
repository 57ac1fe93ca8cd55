import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type Caller, caller } from '../harness/index.ts';
import { freshDatabase, urlOf } from '../harness/postgres.ts';
import { scratch, serverProcess } from '../harness/process.ts';
import { knowsAllMigrations, releaseBefore } from '../harness/version-before.ts';
import { runLoad } from '../platform/reload-load.ts';

interface Contract {
  paths: Record<
    string,
    { get?: { operationId: string; parameters?: { required?: boolean; in: string }[]; responses: Record<string, { content?: object }> } }
  >;
}

/** Lists and overviews: what a caller may ask for without knowing the name of a thing. Streams, and what is no JSON, are left out. */
async function readingsOf(checkout: string): Promise<string[]> {
  const { paths } = JSON.parse(await readFile(join(checkout, 'openapi/v1.json'), 'utf8')) as Contract;
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const isAskable = get && !path.includes('{') && !get.parameters?.some(({ required }) => required);
    const kinds = Object.keys(get?.responses['200']?.content ?? {});
    return isAskable && kinds.includes('application/json') ? [path.replace(/^\/api\/v1/, '')] : [];
  });
}

/** Things that are made in every area. `n` and the release make names that no other request uses. */
const writings: { path: string; body: (name: string, service: string) => object }[] = [
  { path: '/tokens', body: (name) => ({ name }) },
  { path: '/iam/roles', body: (name) => ({ name, permissions: ['uptime.monitor.read'] }) },
  { path: '/registry/registries', body: (slug) => ({ slug }) },
  { path: '/email/domains', body: (name) => ({ name: `${name}.example.com` }) },
  { path: '/email/keys', body: (name) => ({ name }) },
  { path: '/oncall/services', body: (name) => ({ name }) },
  { path: '/uptime/services', body: (name) => ({ name }) },
  { path: '/status-pages', body: (slug, service) => ({ slug, title: slug, serviceIds: [service] }) },
  { path: '/clusters', body: (name) => ({ name, tier: 'small' }) },
];

test('the release before serves on while this one migrates its database, and beside it: no request fails', async (t) => {
  const checkout = await releaseBefore(t);
  if (!checkout) return t.skip('the history of this clone does not reach the release before');
  if (await knowsAllMigrations(checkout)) return t.skip('the commit before the newest migration has the same migrations');
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const { dir, dataDir } = await scratch(t);
  const env = { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_PUBLIC_URL: 'http://127.0.0.1:1' };
  const before = serverProcess(t, { dir, env, checkout });
  const urlBefore = await before.ready;
  const { stdout } = await promisify(execFile)(process.execPath, [join(checkout, 'src/main.ts'), 'admin', 'token'], {
    cwd: dir,
    env: { ...process.env, ...env, QUARTERDECK_DATA: dataDir },
  });
  const key = stdout.trim();

  const { body: shown } = await caller(urlBefore, key).post('/uptime/services', { name: 'shown' });
  let started = 0;
  const reads = await readingsOf(checkout);
  assert.ok(reads.length > 20, `${reads.length} lists`);
  const reading = (who: Caller) => async (n: number) => {
    const path = reads[n % reads.length]!;
    const { status, body } = await who.get(path);
    assert.ok(status < 500 && status !== 401 && status !== 403, `GET ${path}: ${status} ${JSON.stringify(body)}`);
    return path;
  };
  const writing = (who: Caller) => async (n: number) => {
    const { path, body } = writings[n % writings.length]!;
    const { status, body: made } = await who.post(path, body(`thing-${started++}`, shown.id));
    // What is not deleted here reaches a quota, and is told so by both.
    const isFull = status === 403 && /quota exceeded/.test(JSON.stringify(made));
    assert.ok(status === 201 || status === 202 || isFull, `POST ${path}: ${status} ${JSON.stringify(made)}`);
    return path;
  };
  const loadOf = (url: string) => {
    const who = caller(url, key);
    return runLoad({ reading: reading(who), writing: writing(who) });
  };

  const old = loadOf(urlBefore);
  await old.progress(reads.length);
  const now = serverProcess(t, { dir, env });
  const young = loadOf(await now.ready);
  await Promise.all([old.progress(reads.length), young.progress(reads.length)]);
  for (const [name, { failures, done }] of Object.entries({ before: await old.end(), now: await young.end() })) {
    assert.deepEqual(failures, [], `the release ${name === 'now' ? 'of now' : 'before'}`);
    t.diagnostic(`${name}: ${[...done].map(([what, { length }]) => `${length} ${what}`).join(', ')}`);
  }
  assert.equal(await before.stopped(), 0, before.stderr());

  // Once it has ended it cannot start again, and changes nothing by trying.
  const again = serverProcess(t, { dir, env, checkout });
  assert.equal((await again.exited).code, 7, again.stderr());
  assert.match(again.stderr(), /the database was changed by a newer release/);
  assert.equal((await caller(await now.ready, key).get('/overview')).status, 200);
  assert.equal(await now.stopped(), 0, now.stderr());
});
