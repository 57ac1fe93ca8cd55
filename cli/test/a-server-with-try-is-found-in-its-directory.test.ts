import assert from 'node:assert/strict';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runHere } from './cli-context.ts';
import { recording } from './support.ts';

test('a server with --try is found in its directory', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'qdo-'));
  t.after(() => rm(cwd, { recursive: true, force: true }));
  const { url, arrived } = await recording(t);
  const write = async (dir: string, files: Record<string, string>) => {
    await mkdir(join(cwd, dir), { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, dir, name), text);
  };
  const list = async (env: Record<string, string> = {}) => {
    arrived.length = 0;
    const { stderr } = await runHere(['tokens', 'list'], { cwd, env });
    return { arrived: [...arrived], stderr };
  };
  const tried = { 'owner.token': 'qd_pat_tried\n', 'owner.url': `${url}\n`, 'server.holder': '{}' };
  await write('data-try', tried);

  assert.deepEqual((await list()).arrived, ['Bearer qd_pat_tried'], 'by every command, while no other server runs');
  assert.deepEqual((await list({ QUARTERDECK_LISTEN: '127.0.0.1:1' })).arrived, [], 'not beside a setting that describes another server');

  await write('data', { 'server.holder': '{}', 'owner.token': 'qd_pat_earnest', 'owner.url': 'http://127.0.0.1:1\n' });
  assert.deepEqual((await list()).arrived, [], 'not while another server runs here');
  await runHere(['try', 'push'], { cwd });
  assert.ok(arrived.length > 0, 'but by `quarterdeck try`');

  await rm(join(cwd, 'data'), { recursive: true });
  await write('data-try', { 'owner.url': 'http://evil.example\n' });
  const { stderr } = await list({ QUARTERDECK_TOKEN: 'qd_pat_mine' });
  assert.doesNotMatch(stderr, /evil\.example/, 'a folder sends no token to another machine');

  // Another user's folder, such as one below /tmp, must not name the port that gets the caller's token.
  await write('data-try', tried);
  if (process.getuid?.() === 0) {
    await chown(join(cwd, 'data-try', 'owner.url'), 65_534, 65_534);
    assert.deepEqual((await list({ QUARTERDECK_TOKEN: 'qd_pat_mine' })).arrived, [], 'nor to the port of another user');
  }

  await write('elsewhere', { ...tried, 'try.mark': '' });
  assert.deepEqual(
    (await list({ QUARTERDECK_DATA: join(cwd, 'elsewhere') })).arrived,
    ['Bearer qd_pat_tried'],
    'and in a directory that is set',
  );
});
