import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { buildSingleFile } from '../../scripts/build/cli.ts';
import { quarterdeck } from '../harness/index.ts';

test('the single file runs on a machine without Node and npm, and talks to a server', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'qds-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  mkdirSync(home);
  const file = await buildSingleFile(folder);
  // All that it asks of a machine beside a shell.
  const tools = join(folder, 'tools');
  mkdirSync(tools);
  for (const name of ['chmod', 'find', 'gzip', 'mkdir', 'mktemp', 'mv', 'rm', 'sync', 'tail'])
    symlinkSync((await promisify(execFile)('sh', ['-c', `command -v ${name}`])).stdout.trim(), join(tools, name));
  const qd = await quarterdeck(t);
  const env = { HOME: home, PATH: tools, QUARTERDECK_URL: qd.url, QUARTERDECK_TOKEN: qd.owner.key };
  const run = (...args: string[]) => promisify(execFile)(file, args, { cwd: home, env });
  assert.match((await run('--help')).stdout, /^ {2}registry /m);
  assert.match((await run('whoami')).stdout, new RegExp(qd.owner.email));
  await qd.owner.post('/oncall/services', { name: 'shop' });
  assert.match((await run('oncall', 'services', 'list')).stdout, /shop/);
});
