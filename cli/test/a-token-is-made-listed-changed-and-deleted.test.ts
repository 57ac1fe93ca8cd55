import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { cliHere } from './cli-context.ts';
import { cliOf } from './support.ts';

test('a token is made, listed, changed and deleted from the command line', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const cli = cliOf(url, owner.key);
  const service = await cliHere(url, owner.key)('uptime', 'services', 'create', '--name', 'web', '--only', 'id');
  const made = await cli(
    'tokens',
    'create',
    '--name',
    'ci',
    '--scope',
    `role=uptime.viewer,resourceIds=${service.stdout.trim()}`,
    '--scope',
    'role=email.viewer',
    '--json',
  );
  assert.equal(made.code, 0, made.stderr);
  const { id, key } = JSON.parse(made.stdout);
  assert.match(key, /^qd_pat_/);
  assert.equal(made.stderr, 'the secret is shown only this once: keep it now\n');

  const table = await cli('tokens', 'list');
  const [head, row] = table.stdout.split('\n');
  assert.match(head!, /^ID +NAME +ENABLED +LAST USED +EXPIRES +SCOPE$/);
  assert.match(row!, new RegExp(`^${id}  ci +yes +- +in \\d+d +uptime.viewer, email.viewer$`));

  const here = cliHere(url, owner.key);
  const json = JSON.parse((await here('tokens', 'list', '--json')).stdout);
  assert.deepEqual(json.tokens[0].scope[0], { role: 'uptime.viewer', roleName: 'Uptime viewer', resourceIds: [service.stdout.trim()] });

  const odd = await here('tokens', 'create', '--name', 'odd', '--only', 'secret');
  assert.equal(odd.code, 2, odd.stderr);
  assert.match(JSON.parse(odd.stdout).key, /^qd_pat_/, 'a wrong field does not cost the key');
  assert.match(odd.stderr, /the answer has no secret; it has id, key, orgSlug/);

  const changed = await here('tokens', 'update', id, '--no-enabled', '--name', 'ci, paused');
  assert.match(changed.stdout, /^name +ci, paused\n/m);
  assert.match(changed.stdout, /^enabled +no\n/m);

  assert.deepEqual(await cli('tokens', 'delete', id), { code: 0, stdout: '', stderr: `deleted token ${id}\n` });
  assert.ok(!(await here('tokens', 'list', '--only', 'id')).stdout.includes(id));
});

test('pages are walked on request, and the reader is told that more follow', async (t) => {
  const { url, owner } = await quarterdeck(t);
  const cli = cliHere(url, owner.key);
  for (const name of ['a', 'b', 'c']) await owner.post('/tokens', { name });

  const first = await cli('tokens', 'list', '--limit', '2', '--only', 'name');
  assert.equal(first.stdout, 'c\nb\n');
  const told = await cli('tokens', 'list', '--limit', '2');
  const cursor = /^more follow: --all, or --cursor (\S+)\n$/.exec(told.stderr)![1]!;
  assert.equal((await cli('tokens', 'list', '--limit', '1', '--cursor', cursor, '--only', 'name')).stdout, 'a\n');
  const all = JSON.parse((await cli('tokens', 'list', '--limit', '2', '--all', '--json')).stdout);
  assert.deepEqual(all.tokens.map((token: { name: string }) => token.name).slice(0, 3), ['c', 'b', 'a']);
  assert.ok(all.tokens.length > 3, 'the tokens that were there before are on a further page');
});

test('an empty list says so, beside the output', async (t) => {
  const { url, owner } = await quarterdeck(t);
  assert.deepEqual(await cliHere(url, owner.key)('uptime', 'services', 'list'), { code: 0, stdout: '', stderr: 'no services\n' });
});
