import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dockerCredential } from '../docker-credential.ts';
import { recording } from './support.ts';

const helper = fileURLToPath(new URL('../../bin/docker-credential-quarterdeck.mjs', import.meta.url));
const notFound = { stdout: 'credentials not found in native keychain', code: 1 };

async function ask(verb: string, input: string, env: Record<string, string>, cwd?: string) {
  const child = spawn(process.execPath, [helper, verb], {
    cwd,
    env: { PATH: process.env['PATH']!, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(input);
  const [stdout, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once('close', resolve))]);
  return { stdout: stdout.trim(), code };
}

/** The same in this process, for tables of cases: what the helper's own main makes of it. */
const askHere = (verb: string, input: string, env: Record<string, string>) =>
  dockerCredential(verb, input, env, '0').then(
    (stdout) => ({ stdout, code: 0 }),
    (error: Error) => ({ stdout: error.message, code: 1 }),
  );

const login = (response: ServerResponse) =>
  response.writeHead(201, { 'content-type': 'application/json' }).end('{"username":"rl_1","password":"qd_reg_1"}');

function dataDir(t: TestContext, files: Record<string, string>): string {
  const dir = mkdtempSync(join(tmpdir(), 'qdh-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  return dir;
}

test('a token is not sent to the host that docker asks for, unless it is for that host', async (t) => {
  const [mine, other] = [await recording(t, login), await recording(t, login)];
  const env = { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: 'qd_pat_given' };

  for (const asked of [
    other.host,
    `${other.url}/v2/`,
    `${mine.host}@${other.host}`,
    `https://${mine.host}`,
    `localhost:${new URL(mine.url).port}`,
    '',
  ])
    assert.deepEqual(await askHere('get', asked, env), notFound, asked);
  assert.deepEqual(await ask('get', other.host, env), notFound);
  assert.deepEqual(
    await askHere('get', other.host, { QUARTERDECK_TOKEN: 'qd_pat_given' }),
    notFound,
    'a token alone is for this machine’s server',
  );
  assert.deepEqual([mine.arrived, other.arrived], [[], []], 'and nobody is asked');

  for (const [asked, by] of [[mine.host, ask] as const, [`http://${mine.host}/v2/`, askHere] as const])
    assert.deepEqual(JSON.parse((await by('get', asked, env)).stdout), { ServerURL: asked, Username: 'rl_1', Secret: 'qd_reg_1' });
  assert.deepEqual([mine.arrived, other.arrived], [['Bearer qd_pat_given', 'Bearer qd_pat_given'], []]);
});

test('nor is the owner’s: it is for the server that wrote it', async (t) => {
  const [mine, other] = [await recording(t, login), await recording(t, login)];
  const silent = dataDir(t, { 'owner.token': 'qd_pat_owner\n' });
  const told = dataDir(t, { 'owner.token': 'qd_pat_owner\n', 'owner.url': `${mine.url}\n` });

  assert.deepEqual(await askHere('get', other.host, { QUARTERDECK_DATA: silent }), notFound);
  assert.deepEqual(await askHere('get', other.host, { QUARTERDECK_DATA: told }), notFound);
  assert.equal((await askHere('get', mine.host, { QUARTERDECK_DATA: told })).code, 0);
  assert.deepEqual([mine.arrived, other.arrived], [['Bearer qd_pat_owner'], []]);
});

test('nor because the directory it is asked in says so', async (t) => {
  const other = await recording(t, login);
  const cwd = dataDir(t, { 'quarterdeck.toml': `public_url = "${other.url}"\nlisten = "${other.host}"\n` });
  assert.deepEqual(await ask('get', other.host, { QUARTERDECK_TOKEN: 'qd_pat_given' }, cwd), notFound);
  assert.deepEqual(other.arrived, []);
});

test('storing, erasing and listing send no request', async (t) => {
  const mine = await recording(t, login);
  const env = { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: 'qd_pat_given' };
  const secret = { ServerURL: mine.host, Username: 'u', Secret: 'hunter2' };
  const stored = await askHere('store', JSON.stringify(secret), env);
  assert.equal(stored.code, 1);
  assert.ok(!stored.stdout.includes('hunter2'));
  assert.deepEqual(await askHere('erase', mine.host, env), { stdout: '', code: 0 });
  assert.deepEqual(await askHere('list', '', env), { stdout: '{}', code: 0 });
  assert.deepEqual(mine.arrived, []);
});
