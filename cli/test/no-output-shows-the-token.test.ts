import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, findConnection } from '../connect.ts';
import { runHere } from './cli-context.ts';
import { recording, run } from './support.ts';

const me = '{"id":"usr_1","email":"ann@example.com","name":"Ann","organizations":[{"slug":"default","role":"owner"}]}';

test('a token that cannot be sent is refused without being repeated', async (t) => {
  const { url, arrived } = await recording(t);
  for (const [n, broken] of ['qd_pat_hun\nter2', 'qd_pat_hun\u0007ter2', 'qd_pat_hun…ter2', 'qd_pat_hun ter2'].entries()) {
    const tell = n === 0 ? run : runHere;
    const told = [
      await tell(['tokens', 'list'], { env: { QUARTERDECK_URL: url, QUARTERDECK_TOKEN: broken } }),
      await tell(['tokens', 'list', '--url', url, '--token', broken]),
    ];
    for (const { code, stdout, stderr } of told) {
      assert.equal(code, 2);
      assert.match(stderr, /^quarterdeck: the token in (QUARTERDECK_TOKEN|--token) has a character that no token has; copy it again\n$/);
      assert.ok(!`${stdout}${stderr}`.includes('ter2'));
    }
  }
  assert.deepEqual(arrived, []);
});

test('whoami shows how it begins, and only of what looks like one of ours', async (t) => {
  const { url } = await recording(t, (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(me));
  const shown = async (token: string) => (await runHere(['whoami', '--url', url, '--token', token, '--only', 'token'])).stdout.trim();
  assert.equal(await shown(`qd_pat_abcd${'e'.repeat(34)}`), 'qd_pat_abcd…');
  assert.equal(await shown('hunter2'), '…');
  assert.equal(await shown('qd_pat_ab'), '…');
});

test('nothing else that is printed holds it', async (t) => {
  const refusing = await recording(t, (response) => response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"no"}'));
  const env = { QUARTERDECK_TOKEN: 'qd_pat_hunter2', QUARTERDECK_URL: refusing.url, QUARTERDECK_METRICS_TOKEN: 'hunter2' };
  const asProcesses = [['config'], ['config', '--json'], ['--help'], ['tokens', 'list']];
  const here = [
    ['completion', 'bash'],
    ['tokens', 'list', '--url', 'http://127.0.0.1:9'],
    ['tokens', 'lst', '--token', 'hunter2'],
    ['tokens', 'list', '--token', 'hunter2', '--nonsense'],
    ['join', `${refusing.url}/join/qd_inv_x`],
    ['whoami', '--url', `http://user:hunter2@${refusing.host}`],
  ];
  for (const args of [...asProcesses, ...here]) {
    const { stdout, stderr } = await (here.includes(args) ? runHere : run)(args, { env });
    assert.ok(stdout + stderr, args.join(' '));
    assert.ok(!`${stdout}${stderr}`.includes('hunter2'), `${args.join(' ')}: ${stdout}${stderr}`);
  }
});

test('a token that leaves this machine unencrypted is told of', async (t) => {
  const said: string[] = [];
  t.mock.method(console, 'error', (line: string) => said.push(line));
  const here = { env: {}, version: '0', server: async () => ({ url: 'http://127.0.0.1:8080', dataDir: '/nonexistent' }) };
  const to = async (url: string, token?: string) =>
    call(await findConnection({ url, ...(token ? { token } : {}) }, here), here, { open: true }, async () => {});

  for (const safe of ['https://quarterdeck.example', 'http://127.0.0.1:1', 'http://127.0.0.9', 'http://localhost', 'http://[::1]:8080'])
    await to(safe, 't');
  await to('http://quarterdeck.example');
  assert.deepEqual(said, []);
  await to('http://quarterdeck.example', 't');
  assert.deepEqual(said, [
    'quarterdeck: the token goes to http://quarterdeck.example unencrypted, for everybody on the way to read; use https',
  ]);
});
