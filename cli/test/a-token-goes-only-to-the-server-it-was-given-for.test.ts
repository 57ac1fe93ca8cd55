import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findConnection } from '../connect.ts';
import { runHere } from './cli-context.ts';
import { recording, run } from './support.ts';

const token = 'qd_pat_given';
const bearer = `Bearer ${token}`;

test('QUARTERDECK_TOKEN is for QUARTERDECK_URL: another --url needs a token of its own', async (t) => {
  const [mine, other] = [await recording(t), await recording(t)];
  const env = { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: token };

  const refused = await run(['tokens', 'list', '--url', other.url], { env });
  assert.equal(refused.code, 20);
  assert.equal(
    refused.stderr,
    `quarterdeck: no token for ${other.url}: QUARTERDECK_TOKEN is for ${mine.url}, which QUARTERDECK_URL names; give --token, or set both for this server\n`,
  );
  assert.deepEqual([mine.arrived, other.arrived], [[], []]);

  assert.equal((await runHere(['tokens', 'list', '--url', other.url, '--token', 'qd_pat_other'], { env })).code, 0);
  assert.equal((await runHere(['tokens', 'list', '--url', `${mine.url.toUpperCase()}/`], { env })).code, 0);
  assert.equal((await run(['tokens', 'list'], { env })).code, 0);
  assert.deepEqual([mine.arrived, other.arrived], [[bearer, bearer], ['Bearer qd_pat_other']]);
});

test('without QUARTERDECK_URL it is for the server of this machine', async (t) => {
  const [mine, other] = [await recording(t), await recording(t)];
  const env = { QUARTERDECK_LISTEN: mine.host, QUARTERDECK_TOKEN: token };

  const refused = await runHere(['tokens', 'list', '--url', other.url], { env });
  assert.equal(refused.code, 20);
  assert.match(refused.stderr, new RegExp(`if it is a token of ${other.url}, set QUARTERDECK_URL to that, or give --token\n$`));
  assert.equal((await run(['tokens', 'list'], { env })).code, 0);
  assert.equal((await runHere(['tokens', 'list'], { env: { QUARTERDECK_URL: other.url, QUARTERDECK_TOKEN: token } })).code, 0);
  assert.deepEqual([mine.arrived, other.arrived], [[bearer], [bearer]]);
});

test('what needs no token is asked without one', async (t) => {
  const [mine, other] = [await recording(t), await recording(t)];
  await runHere(['organization', 'invitations', 'accept', '--secret', 'qd_inv_x', '--url', other.url], {
    env: { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: token },
  });
  assert.deepEqual([mine.arrived, other.arrived], [[], ['']]);
});

test('a settings file that lies in the current directory does not say whose the token is', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'qdf-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'quarterdeck.toml'), 'public_url = "http://127.0.0.5:9"\n');

  const refused = await run(['tokens', 'list'], { cwd, env: { QUARTERDECK_TOKEN: token } });
  assert.equal(refused.code, 20, refused.stderr);
  assert.match(refused.stderr, /if it is a token of http:\/\/127\.0\.0\.5:9, set QUARTERDECK_URL to that/);

  // Nor is the token that lies there used instead of the one that was set: the command would be carried out at a server of the folder's choice.
  mkdirSync(join(cwd, 'data'));
  writeFileSync(join(cwd, 'data', 'owner.token'), 'qd_pat_of_the_folder\n');
  writeFileSync(join(cwd, 'data', 'owner.url'), 'http://127.0.0.5:9\n');
  const lured = await runHere(['tokens', 'list'], { cwd, env: { QUARTERDECK_TOKEN: token } });
  assert.equal(lured.code, 20, lured.stderr);

  const named = { QUARTERDECK_TOKEN: token, QUARTERDECK_CONFIG: join(cwd, 'quarterdeck.toml') };
  assert.equal((await runHere(['tokens', 'list'], { env: named })).code, 25, 'a file that the environment names is believed');
});

test('origins are compared as the URL standard spells them', async () => {
  const at = (url: string) => ({ env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: token }, version: '0', server: async () => own });
  const own = { url: 'http://127.0.0.1:8080', dataDir: '/nonexistent' };
  const goes = async (to: string, given = 'https://quarterdeck.example') =>
    (await findConnection({ url: to }, at(given))).token !== undefined;

  for (const same of [
    'https://quarterdeck.example/',
    'https://quarterdeck.example:443',
    'HTTPS://Quarterdeck.EXAMPLE/elsewhere',
    'https://quarterdeck.example.',
    'https://ｑuarterdeck.example',
  ])
    assert.ok(await goes(same), same);
  for (const other of [
    'http://quarterdeck.example',
    'http://quarterdeck.example:443',
    'https://quarterdeck.example:8443',
    'https://quarterdeck.example.evil.example',
    'https://evil.example/quarterdeck.example',
    'https://evil.example\\@quarterdeck.example',
    'https://evil.example?https://quarterdeck.example',
    'https://evil.example#@quarterdeck.example',
    'https://quаrterdeck.example', // a Cyrillic а
    'https://www.quarterdeck.example',
  ])
    assert.ok(!(await goes(other)), other);
  await assert.rejects(
    goes('https://quarterdeck.example@evil.example'),
    /names a user before evil\.example; leave out everything up to the @/,
  );
  await assert.rejects(goes('https://:quarterdeck.example@evil.example'), /names a user before evil\.example/);
  assert.ok(await goes('https://xn--bcher-kva.example', 'https://bücher.example'));
  assert.ok(!(await goes('http://localhost:8080', 'http://127.0.0.1:8080')), 'only the server of this machine has several names');
});
