import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Api, ApiError } from '../../sdk/index.ts';
import { answering } from '../../sdk/test/servers.ts';
import { findConnection } from '../connect.ts';
import { waitForToken } from '../profiles/device-login.ts';
import type { Profile } from '../profiles/folder.ts';
import { findKeyring } from '../profiles/keyring.ts';
import { runHere } from './cli-context.ts';
import { makeHome, makeKeyring } from './profiles-support.ts';
import { begin, recording } from './support.ts';

type Said = [status: number, code: string | undefined, body: object];

const codes = (url: string) => ({
  deviceCode: 'qd_dev_x',
  userCode: 'BCDF-GHJK',
  verificationUrl: `${url}/device`,
  expiresAt: '2030-01-01T00:00:00.000Z',
  intervalSeconds: 1,
});
const granted = { key: 'qd_pat_granted', orgSlug: 'acme', tokenId: 'tok_1', userId: 'usr_1', expiresAt: '2030-01-01T00:00:00.000Z' };

const send = (response: ServerResponse, [status, code, body]: Said) =>
  response.writeHead(status, { 'content-type': 'application/json', ...(code ? { 'x-error-code': code } : {}) }).end(JSON.stringify(body));

/** A server that gives codes, and answers claims as the test has it, the last again and again. */
async function deviceServer(t: TestContext, answers: Said[], ownCodes: (url: string) => object = codes) {
  const asked: string[] = [];
  const url: string = await answering(t, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`.trim());
    request.resume();
    if (request.url === '/api/v1/device/codes') return void send(response, [201, undefined, ownCodes(url)]);
    if (request.url === '/api/v1/device/tokens') return void send(response, answers.length > 1 ? answers.shift()! : answers[0]!);
    if (request.url === '/api/v1/me')
      return void send(response, [200, undefined, { email: 'eve\u001b[2J@example.com', organizations: [] }]);
    send(response, [401, 'unauthenticated', { error: 'unauthenticated' }]);
  });
  return { url, asked };
}

const refusal = (status: number, code: string): Said => [status, code, { error: `no: ${code}` }];

test('a login waits for its approval, also while the server is away, and prints nothing that steers', async (t) => {
  const home = makeHome(t);
  const env = { HOME: home };
  const { url, asked } = await deviceServer(t, [
    refusal(409, 'authorization_pending'),
    refusal(503, 'unavailable'),
    [201, undefined, granted],
  ]);
  const ran = await runHere(['login', url, '--profile', 'a'], { env });
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, /^logged in as eve\\x1b\[2J@example\.com in acme at /);
  assert.deepEqual(asked.filter((each) => each.endsWith('/device/tokens')).length, 3);
  assert.ok(
    asked.every((each) => !each.includes('Bearer') || each.startsWith('GET /api/v1/me ')),
    'nothing is sent before there is a token',
  );

  const again = await deviceServer(t, [[201, undefined, granted]]);
  const other = await runHere(['login', again.url, '--profile', 'a'], { env });
  assert.equal(other.code, 2, 'a profile does not change its server');
  assert.match(other.stderr, /the profile a is for http/);
});

test('a refusal, an end and a page of another server leave nothing behind', async (t) => {
  const home = makeHome(t);
  const env = { HOME: home };
  const cases: [Said, number, RegExp][] = [
    [refusal(403, 'access_denied'), 21, /no: access_denied/],
    [refusal(404, 'expired'), 22, /no: expired/],
    [[201, undefined, { ...granted, key: 'qd_pat_a\nb' }], 25, /gave no token that can be sent/],
  ];
  for (const [answer, code, words] of cases) {
    const { url } = await deviceServer(t, [answer]);
    const ran = await runHere(['login', url], { env });
    assert.equal(ran.code, code, ran.stderr);
    assert.match(ran.stderr, words);
  }
  for (const page of ['https://evil.example/device', 'javascript:alert(1)', 'http://127.0.0.1:1/device', 'not a page']) {
    const { url, asked } = await deviceServer(t, [[201, undefined, granted]], (own) => ({ ...codes(own), verificationUrl: page }));
    const ran = await runHere(['login', url], { env });
    assert.equal(ran.code, 24, page);
    assert.match(ran.stderr, /which is another server; nothing was done/);
    assert.deepEqual(asked, ['POST /api/v1/device/codes'], 'no token is fetched');
  }
  const hostile = await deviceServer(t, [refusal(403, 'access_denied')], (own) => ({
    ...codes(own),
    userCode: '\u001b]0;x\u0007A\nType  B',
  }));
  const shown = await runHere(['login', hostile.url], { env });
  assert.ok(shown.stderr.includes('Type  \\x1b]0;x\\x07A Type B\n'), shown.stderr);
  assert.ok(!existsSync(join(home, '.config')), 'nothing was written');
  assert.equal((await runHere(['login', 'http://192.0.2.1:8080'], { env })).code, 2, 'no token comes unencrypted from elsewhere');
});

test('a login asks less often when it is told to', async () => {
  const answers = [
    new ApiError(409, 'slow_down', ''),
    new ApiError(409, 'authorization_pending', ''),
    new ApiError(429, 'rate_limited', ''),
  ];
  const claimDeviceToken = async () => (answers.length ? Promise.reject(answers.shift()) : granted);
  const waited: number[] = [];
  const wait = async (_: unknown, seconds: number) => void waited.push(seconds);
  const codes = { deviceCode: 'x', userCode: 'x', page: 'x', intervalSeconds: 5 };
  const got = await waitForToken({ account: { claimDeviceToken } } as unknown as Api, codes, new AbortController().signal, wait);
  assert.equal(got, granted);
  assert.deepEqual(waited, [5, 10, 10, 15]);
});

test('Ctrl-C ends a login at once and cleanly', async (t) => {
  const home = makeHome(t);
  const { url } = await deviceServer(t, [refusal(409, 'slow_down')]);
  const login = begin(['login', url], { env: { HOME: home } });
  await login.said(/Type {2}BCDF-GHJK/);
  login.child.kill('SIGINT');
  const { code, stderr } = await login.ended;
  assert.equal(code, 130, stderr);
  assert.match(stderr, /quarterdeck: interrupted: nothing was changed; the code ends by itself\n$/);
  assert.ok(!existsSync(join(home, '.config')));
});

test('the token of a login goes to its own server alone, and flags and environment come before it', async (t) => {
  const home = makeHome(t);
  const folder = join(home, '.config', 'quarterdeck', 'profiles');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [mine, other, third] = [await recording(t), await recording(t), await recording(t)];
  const write = (name: string, profile: Partial<Profile>) =>
    writeFileSync(
      join(folder, `${name}.json`),
      JSON.stringify({ organization: 'acme', user: 'a@example.com', tokenId: 'tok_1', expiresAt: '2030-01-01T00:00:00.000Z', ...profile }),
      { mode: 0o600 },
    );
  write('mine', { url: mine.url, token: 'qd_pat_mine' });
  write('twin', { url: mine.url, token: 'qd_pat_twin' });
  write('other', { url: other.url, token: 'qd_pat_other' });
  writeFileSync(join(home, '.config', 'quarterdeck', 'current'), 'mine\n');

  const own = { url: third.url, dataDir: join(home, 'none') };
  const goes = async (wanted: object, env: object = {}) => {
    const here = { env: { HOME: home, ...env }, version: '0', server: async () => own };
    const { url, token } = await findConnection(wanted, here);
    return [url, token];
  };
  assert.deepEqual(await goes({}), [mine.url, 'qd_pat_mine'], 'the login in use');
  assert.deepEqual(await goes({ profile: 'other' }), [other.url, 'qd_pat_other']);
  assert.deepEqual(await goes({}, { QUARTERDECK_PROFILE: 'other' }), [other.url, 'qd_pat_other']);
  assert.deepEqual(await goes({ url: other.url }), [other.url, 'qd_pat_other'], 'the login for that server');
  assert.deepEqual(await goes({ url: third.url }), [third.url, undefined], 'no login is for it');
  assert.deepEqual(await goes({ profile: 'local' }), [third.url, undefined]);
  assert.deepEqual(await goes({ token: 'qd_pat_given' }), [mine.url, 'qd_pat_given']);
  assert.deepEqual(await goes({}, { QUARTERDECK_URL: other.url, QUARTERDECK_TOKEN: 'qd_pat_env' }), [other.url, 'qd_pat_env']);
  assert.deepEqual(await goes({}, { QUARTERDECK_TOKEN: 'qd_pat_env' }), [third.url, 'qd_pat_env'], 'for this machine, as before');
  assert.deepEqual(await goes({ profile: 'other' }, { QUARTERDECK_URL: mine.url, QUARTERDECK_TOKEN: 'qd_pat_env' }), [
    other.url,
    'qd_pat_other',
  ]);
  await assert.rejects(goes({ profile: 'mine', url: other.url }), /the profile mine is for http/);
  await assert.rejects(goes({ profile: '../mine' }), /there is no profile/);
  assert.deepEqual(await goes({ url: mine.url }, { QUARTERDECK_PROFILE: 'other' }), [mine.url, 'qd_pat_mine']);
  writeFileSync(join(home, '.config', 'quarterdeck', 'current'), 'other\n');
  assert.deepEqual(await goes({ url: mine.url }), [mine.url, undefined], 'of two logins for a server neither is taken by chance');
  writeFileSync(join(folder, 'mine.json'), '{');
  await assert.rejects(goes({ profile: 'mine' }), /is damaged/);

  await runHere(['tokens', 'list', '--url', third.url], { env: { HOME: home } });
  assert.deepEqual([mine.arrived, other.arrived, third.arrived], [[], [], []]);
});

test('a keyring keeps a token under its server, and none that breaks out of a command', async (t) => {
  const home = makeHome(t);
  const env = { HOME: home, ...makeKeyring(home) };
  const place = { profile: 'a', url: 'https://quarterdeck.example' };
  const keyring = findKeyring(env, 'linux');
  assert.equal(await keyring.keep(place, 'qd_pat_x'), true);
  assert.equal(await keyring.find(place), 'qd_pat_x');
  assert.equal(await keyring.find({ ...place, url: 'https://evil.example' }), undefined, 'another server finds nothing');
  assert.equal(await keyring.keep(place, 'x"\ndelete-keychain'), false);
  await keyring.forget(place);
  assert.equal(await keyring.find(place), undefined);
  assert.equal(await findKeyring({ PATH: '/nonexistent' }, 'linux').keep(place, 'qd_pat_x'), false, 'no keyring: the file');

  // `security` of macOS: the token comes by standard input, never as an argument.
  writeFileSync(join(home, 'bin', 'security'), `#!/bin/sh\necho "args: $*" >> '${home}/said'; cat >> '${home}/said'; echo qd_pat_x\n`, {
    mode: 0o755,
  });
  assert.equal(await findKeyring(env, 'darwin').keep(place, 'qd_pat_x'), true);
  const said = readFileSync(join(home, 'said'), 'utf8');
  assert.match(said, /^args: -i\nadd-generic-password -U -a "a" -s "quarterdeck https:\/\/quarterdeck\.example" -w "qd_pat_x"\n/);
  assert.ok(!/args:.*qd_pat_x/.test(said));
});
