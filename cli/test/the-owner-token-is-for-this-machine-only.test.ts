import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { findConnection } from '../connect.ts';
import { run } from './support.ts';

test('whoami needs nothing beside the server of this machine', async (t) => {
  const { url, dataDir } = await quarterdeck(t);
  const { code, stdout } = await run(['whoami'], { env: { QUARTERDECK_LISTEN: new URL(url).host, QUARTERDECK_DATA: dataDir } });
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^user +owner@localhost\n(.+\n)*organization +default\nrole +owner\ntoken +qd_pat_\w{4}…\ntoken from +\S+owner\.token\nserver +http:/,
  );
});

test('the one given on the command line wins over the environment, and that over the owner’s', async (t) => {
  const { url, dataDir, owner, member } = await quarterdeck(t);
  const ann = await member(owner, 'admin', 'ann@example.com');
  const ben = await member(owner, 'member', 'ben@example.com');
  const env = { QUARTERDECK_URL: url, QUARTERDECK_DATA: dataDir };
  const user = async (args: string[], more = {}) => (await run([...args, '--only', 'user'], { env: { ...env, ...more } })).stdout;

  assert.equal(await user(['whoami']), 'owner@localhost\n');
  assert.equal(await user(['whoami'], { QUARTERDECK_TOKEN: ann.key }), 'ann@example.com\n');
  assert.equal(await user(['whoami', '--token', ben.key], { QUARTERDECK_TOKEN: ann.key }), 'ben@example.com\n');
  assert.equal(await user(['--token', ben.key, 'whoami'], { QUARTERDECK_TOKEN: ann.key }), 'ben@example.com\n');
});

test('it is not handed to a server elsewhere', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'qdo-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  writeFileSync(join(dataDir, 'owner.token'), 'qd_pat_owner\n');
  const here = { env: {}, version: '0', server: async () => ({ url: 'https://quarterdeck.example', dataDir }) };
  const tokenFor = async (url?: string) => (await findConnection(url ? { url } : {}, here)).token;

  for (const own of [undefined, 'https://quarterdeck.example', 'https://QUARTERDECK.example.:443/'])
    assert.equal(await tokenFor(own), 'qd_pat_owner', `${own}`);
  for (const other of [
    'http://127.0.0.1:9999',
    'https://elsewhere.example',
    'http://localhost.example',
    'http://127.0.0.1.example',
    'http://quarterdeck.example',
    'https://quarterdeck.example:444',
  ])
    assert.equal(await tokenFor(other), undefined, other);
  await assert.rejects(tokenFor('http://localhost@elsewhere.example'), /names a user before elsewhere\.example/);

  // What the server itself has told counts, whatever the settings here say.
  writeFileSync(join(dataDir, 'owner.url'), 'http://127.0.0.1:9999\nhttps://deck.example\n');
  for (const own of ['http://127.0.0.1:9999', 'http://localhost:9999', 'http://[::1]:9999', 'https://deck.example'])
    assert.equal(await tokenFor(own), 'qd_pat_owner', own);
  for (const other of ['https://quarterdeck.example', 'https://127.0.0.1:9999', 'http://127.0.0.1:9998', 'http://127.0.0.1'])
    assert.equal(await tokenFor(other), undefined, other);
});
