import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runHere } from './cli-context.ts';
import { recording, run } from './support.ts';

const joined = (response: import('node:http').ServerResponse) =>
  response.writeHead(201, { 'content-type': 'application/json' }).end('{"userId":"usr_1","orgSlug":"default","key":"qd_pat_new"}');

test('a link to another server is followed without QUARTERDECK_TOKEN', async (t) => {
  const [mine, other] = [await recording(t), await recording(t, joined)];
  const link = `${other.url}/join/qd_inv_x`;

  assert.equal((await run(['join', link], { env: { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: 'qd_pat_given' } })).code, 0);
  assert.equal((await runHere(['join', link], { env: { QUARTERDECK_TOKEN: 'qd_pat_given' } })).code, 0);
  assert.deepEqual(other.arrived, ['', '']);

  assert.equal((await runHere(['join', link], { env: { QUARTERDECK_URL: other.url, QUARTERDECK_TOKEN: 'qd_pat_given' } })).code, 0);
  assert.equal((await run(['join', link, '--token', 'qd_pat_there'], { env: { QUARTERDECK_TOKEN: 'qd_pat_given' } })).code, 0);
  assert.deepEqual(other.arrived, ['', '', 'Bearer qd_pat_given', 'Bearer qd_pat_there']);
  assert.deepEqual(mine.arrived, []);
});

test('who needs a token there is told which one was not sent', async (t) => {
  const other = await recording(t, (response) =>
    response.writeHead(409, { 'content-type': 'application/json' }).end('{"error":"accept with a token of that account"}'),
  );
  const env = { QUARTERDECK_URL: 'https://quarterdeck.example', QUARTERDECK_TOKEN: 'qd_pat_given' };
  const { code, stderr } = await runHere(['join', `${other.url}/join/qd_inv_x`], { env });
  assert.equal(code, 23);
  assert.match(stderr, /with a token of that account; QUARTERDECK_TOKEN is for https:\/\/quarterdeck\.example, .+ give --token/);
});

test('a redirect does not carry it on', async (t) => {
  const elsewhere = await recording(t, joined);
  const other = await recording(t, (response) => response.writeHead(307, { location: `${elsewhere.url}/api/v1/organization/join` }).end());
  const { code } = await runHere(['join', `${other.url}/join/qd_inv_x`, '--token', 'qd_pat_there']);
  assert.equal(code, 25);
  assert.deepEqual(elsewhere.arrived, []);
});

test('a link that names another server than it seems to, or speaks to the shell, is refused', async (t) => {
  const other = await recording(t, joined);
  for (const link of [
    `http://quarterdeck.example@${other.host}/join/qd_inv_x`,
    `http://${other.host}\\@quarterdeck.example/join/qd_inv_x`,
    `${other.url}/;date;/join/qd_inv_x`,
    `${other.url}/$(date)/join/qd_inv_x`,
    `${other.url}/ /join/qd_inv_x`,
    'http://$(date)/join/qd_inv_x',
  ]) {
    const { code, stderr } = await runHere(['join', link], { env: { QUARTERDECK_TOKEN: 'qd_pat_given' } });
    assert.equal(code, 2, link);
    assert.match(stderr, /an invitation link looks like|names a user before/);
  }
  assert.deepEqual(other.arrived, []);
});
