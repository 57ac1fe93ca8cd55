import assert from 'node:assert/strict';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../test/harness/index.ts';
import { signedIn } from '../../test/harness/visitor.ts';
import { runHere } from './cli-context.ts';
import { makeHome, makeKeyring } from './profiles-support.ts';
import { begin } from './support.ts';

test('a colleague logs in with the browser, uses several logins, and logs out', async (t) => {
  const qd = await quarterdeck(t);
  const colleague = await qd.member(qd.owner, 'admin');
  const browser = await signedIn(qd, colleague.userId);
  const home = makeHome(t);
  const env = { HOME: home, ...makeKeyring(home) };
  const profiles = join(home, '.config', 'quarterdeck', 'profiles');

  const [one, two] = [begin(['login', qd.url], { env }), begin(['login', qd.url, '--profile', 'narrow', '--no-keyring'], { env })];
  for (const [login, rights] of [
    [one, 'everything'],
    [two, 'see'],
  ] as const) {
    const [, page, code] = await login.said(/^Open {2}(\S+)\nType {2}(\S+)\n/);
    assert.equal(page, `${qd.url.replace('127.0.0.1', 'localhost')}/device`);
    assert.equal((await browser.post('/device/approve', { code: code!, organization: 'default', rights, days: '30' })).status, 200);
  }
  const [first, second] = await Promise.all([one.ended, two.ended]);
  const name = new URL(qd.url).host.replace(':', '-');
  assert.equal(first.code, 0, first.stderr);
  assert.equal(
    first.stdout,
    `logged in as ${colleague.email} in default at ${qd.url}\nprofile ${name}; the token ends in 29 days and is in the keyring\n`,
  );
  assert.match(second.stdout, new RegExp(`profile narrow; the token ends in 29 days and is in ${join(profiles, 'narrow.json')}\n$`));
  assert.match(first.stderr, /next: quarterdeck status\n$/);

  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  assert.deepEqual([profiles, join(profiles, `${name}.json`), join(profiles, 'narrow.json')].map(modeOf), ['700', '600', '600']);
  assert.ok(!readFileSync(join(profiles, `${name}.json`), 'utf8').includes('qd_pat_'), 'the token is in the keyring alone');
  const [kept = ''] = readdirSync(join(home, 'ring'));
  assert.match(readFileSync(join(home, 'ring', kept), 'utf8'), /^qd_pat_\w{38}$/);
  const rounds = [first, second].map(({ stdout, stderr }) => stdout + stderr).join();
  assert.ok(!/qd_(pat|dev)_\w{10}/.test(rounds), 'no output shows a token');

  const who = async (...args: string[]) => JSON.parse((await runHere(['whoami', '--json', ...args], { env })).stdout);
  await runHere(['profile', 'use', name], { env });
  const me = await who();
  assert.deepEqual([me.user, me.profile, me.server, me.organization], [colleague.email, name, qd.url, 'default']);
  assert.match(me.tokenEnds, /^ends in 29 days /);
  assert.equal((await who('--profile', 'narrow')).profile, 'narrow');
  assert.equal((await runHere(['whoami', '--only', 'profile'], { env: { ...env, QUARTERDECK_PROFILE: 'narrow' } })).stdout, 'narrow\n');
  const invite = ['organization', 'invitations', 'create', '--email', 'x@example.com'];
  assert.equal((await runHere([...invite, '--profile', 'narrow'], { env })).code, 21, 'a narrowed login is narrow');
  assert.equal((await runHere(invite, { env })).code, 0);
  const listed = await runHere(['profile', 'list', '--columns', 'name,use'], { env });
  assert.match(listed.stdout, new RegExp(`${name}\\s+in use\nnarrow`));
  assert.equal((await runHere(['__complete', 'tokens', 'list', '--profile', 'na'], { env })).stdout, 'narrow\n');
  assert.equal((await runHere(['__complete', 'profile', 'use', ''], { env })).stdout, `${name}\nnarrow\nlocal\n`);

  chmodSync(join(profiles, 'narrow.json'), 0o644);
  const open = await runHere(['whoami', '--profile', 'narrow'], { env });
  assert.equal(open.code, 2);
  assert.match(open.stderr, /narrow\.json is open to other users of this machine: revoke its token/);
  chmodSync(join(profiles, 'narrow.json'), 0o600);

  const tokens = async () =>
    ((await colleague.get('/tokens')).body.tokens as { name: string }[]).filter((each) => each.name.startsWith('quarterdeck ')).length;
  assert.equal(await tokens(), 2);
  const out = await runHere(['logout'], { env });
  assert.deepEqual([out.code, out.stdout], [0, `logged out of ${qd.url} (profile ${name})\n`]);
  assert.deepEqual([await tokens(), readdirSync(join(home, 'ring')).length], [1, 0], 'revoked there, removed here');
  assert.match((await runHere(['whoami', '--url', qd.url], { env })).stdout, /narrow/, 'the only login that is left for the server');

  await qd.clock.advance('31d');
  const over = await runHere(['tokens', 'list', '--profile', 'narrow'], { env });
  assert.equal(over.code, 20);
  assert.match(over.stderr, /the token used is that of the profile narrow; get another: `quarterdeck login --profile narrow`/);
  const local = await runHere(['logout', '--profile', 'narrow', '--local'], { env });
  assert.equal(local.code, 0, local.stderr);
  assert.deepEqual(readdirSync(profiles), []);
  const none = await runHere(['whoami', '--url', qd.url], { env });
  assert.equal(none.code, 20);
  assert.ok(none.stderr.includes(`no token for ${qd.url}: \`quarterdeck login ${qd.url}\` gets one`), none.stderr);
});
