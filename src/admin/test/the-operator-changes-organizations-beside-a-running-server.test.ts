import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually } from '../../../test/harness/process.ts';
import { type Caller, caller } from '../../../test/harness/request.ts';
import { adminHere, quarterdeckCli, sqlOn } from './support.ts';

/** A server hears of it a moment after the command has ended, far sooner than its cache would forget by itself (60 s). */
async function soon(who: Caller, path: string, status: number) {
  const until = performance.now() + 3_000;
  for (;;) {
    const answer = await who.get(path);
    if (answer.status === status || performance.now() > until) {
      assert.equal(answer.status, status, path);
      return answer;
    }
  }
}

async function beside(t: TestContext) {
  const server = await quarterdeck(t, { env: { QUARTERDECK_PUBLIC_URL: 'https://deck.example' } });
  const env = {
    QUARTERDECK_DATABASE_URL: urlOf(server.connection),
    QUARTERDECK_DATA: server.dataDir,
    QUARTERDECK_PUBLIC_URL: 'https://deck.example',
  };
  const admin = async (...args: string[]) => {
    const { code, out, err } = await adminHere(args, env);
    assert.equal(code, 0, `${args.join(' ')}: ${err}`);
    return out.trim();
  };
  const refused = async (...args: string[]) => {
    const { code, out, err } = await adminHere(args, env);
    assert.equal(out, '');
    return [code, err.trim()];
  };
  return { server, env, admin, refused };
}

test('organizations and members are made, changed and ended, and running servers hear of it', async (t) => {
  const { server, admin, refused } = await beside(t);
  const made = JSON.parse(await admin('organizations', 'create', '--slug', 'acme', '--owner-email', 'ann@acme.example', '--json'));
  assert.deepEqual([made.slug, made.name, made.owners, made.entitlements], ['acme', 'acme', ['ann@acme.example'], ['email', 'uptime']]);

  const ann = await admin('token', '--organization', 'acme', '--days', '1');
  const bob = await admin('members', 'add', '-o', 'acme', '--email', 'bob@acme.example', '--role', 'admin', '--token');
  const link = await admin('members', 'add', '-o', 'acme', '--email', 'cat@acme.example');
  assert.deepEqual((await caller(server.url, ann).get('/me')).body.organizations, [{ slug: 'acme', name: 'acme', role: 'owner' }]);
  const asBob = caller(server.url, bob);
  assert.equal((await asBob.get('/organization/audit')).status, 200);

  assert.match(link, /^https:\/\/deck\.example\/join\/qd_inv_\w+$/);
  const joined = await server.anonymous.post('/organization/invitations/accept', { secret: link.split('/').at(-1), name: 'Cat' });
  assert.equal(joined.status, 201);

  await admin('members', 'set-role', 'BOB@acme.example', 'member', '-o', 'acme');
  await soon(asBob, '/organization/audit', 403);
  await admin('members', 'set-email', 'bob@acme.example', 'bob@new.example', '-o', 'acme');
  await eventually(async () => (await asBob.get('/me')).body.email === 'bob@new.example');
  await admin('members', 'set-email', 'bob@new.example', 'bob@acme.example', '-o', 'acme');
  await admin('members', 'remove', 'bob@acme.example', '-o', 'acme');
  await soon(asBob, '/tokens', 401);

  const no: [args: string[], sentence: string][] = [
    [['members', 'set-role', 'ann@acme.example', 'member'], 'the last owner cannot be demoted; make somebody else an owner first'],
    [['members', 'remove', 'ann@acme.example'], 'the last owner cannot be removed; make somebody else an owner first'],
    [
      ['members', 'remove', 'bob@acme.example'],
      'bob@acme.example does not belong to acme; `quarterdeck admin members list` shows who does',
    ],
    [
      ['members', 'set-email', 'cat@acme.example', 'ANN@acme.example'],
      'another account has the address ANN@acme.example; sign in as that one, or choose another address',
    ],
    [['members', 'add', '--email', 'ann@acme.example'], 'ann@acme.example already belongs to acme'],
  ];
  for (const [args, sentence] of no) assert.deepEqual(await refused(...args, '-o', 'acme'), [11, `quarterdeck: ${sentence}`]);
  const twice = await refused('organizations', 'create', '--slug', 'acme', '--owner-email', 'ann@acme.example');
  assert.deepEqual(twice, [11, 'quarterdeck: there is an organization acme already; choose another slug']);

  const audited = await sqlOn<{ action: string }>(
    server.connection,
    `select a.action from kernel.audit a join identity.org o on o.id = a.org_id where o.slug = 'acme' and a.actor = 'operator' order by a.action`,
  );
  assert.deepEqual(
    audited.map((a) => a.action),
    [
      'account.address.change',
      'account.address.change',
      'organization.create',
      'organization.invitation.create',
      'organization.member.add',
      'organization.member.remove',
      'organization.member.update',
      'tokens.token.create',
      'tokens.token.create',
    ],
  );
});

test('entitlements and payment take effect in running servers', async (t) => {
  const { server, admin } = await beside(t);
  assert.equal((await server.owner.get('/uptime/services')).status, 200);
  assert.equal(await admin('entitlements', 'set', 'email'), 'default may use: email');
  const closed = await soon(server.owner, '/uptime/services', 403);
  assert.equal(closed.headers.get('x-error-code'), 'not_entitled');
  await admin('entitlements', 'set', 'uptime,email');
  await soon(server.owner, '/uptime/services', 200);
  assert.equal(await admin('payment', 'set', 'inactive'), 'payment of default is inactive');
  const shown = JSON.parse(await admin('organizations', 'show', '--json'));
  assert.deepEqual([shown.payment, shown.entitlements], ['inactive', ['email', 'uptime']]);
  const log = JSON.parse(await admin('audit', '--json'));
  assert.deepEqual(
    log.slice(0, 3).map((e: { action: string; actor: string; detail: unknown }) => [e.actor, e.action, e.detail]),
    [
      ['operator', 'organization.payment.set', { from: true, to: false }],
      ['operator', 'organization.entitlements.set', { from: ['email'], to: ['email', 'uptime'] }],
      ['operator', 'organization.entitlements.set', { from: ['email', 'uptime'], to: ['email'] }],
    ],
  );
});

test('what cannot be is refused with a sentence: unknown names with the known ones, bad words with exit code 2', async (t) => {
  const { server, env, admin, refused } = await beside(t);
  await server.organization('acme');
  const table: [args: string[], code: number, sentence: RegExp][] = [
    [['token', '-o', 'nope'], 11, /there is no organization nope; there are acme, default$/],
    [['token'], 2, /^quarterdeck: say which organization with --organization: acme, default$/],
    [['token', '-o', 'acme', '--email', 'who@acme.example'], 11, /who@acme\.example does not belong to acme; add them with/],
    [['members', 'add', '--email', 'nobody'], 2, /'--email <address>' argument 'nobody' is invalid\. It must be an email address\./],
    [['members', 'add', '--email', 'a@b.example', '--role', 'king'], 2, /Allowed choices are owner, admin, member/],
    [['organizations', 'create', '--slug', 'A', '--owner-email', 'a@b.example'], 2, /3 to 40 lower-case letters/],
    [['entitlements', 'set', 'email,teleport', '-o', 'acme'], 2, /“teleport” is none of email, uptime/],
    [['jobs', 'retry'], 2, /say which job with its id, or --all/],
    [['jobs', 'retry', '7'], 11, /unknown dead job/],
    [['jobs', 'drop', '7'], 11, /unknown job/],
    [['jobs', 'drop', 'x'], 2, /It must be a whole number/],
    [['fly'], 2, /unknown command 'fly'/],
    [['rotate-key', '--step', 'add', '--drop-old'], 2, /do not go together/],
  ];
  for (const [args, code, sentence] of table) {
    const [found, err] = await refused(...args);
    assert.equal(found, code, `${args.join(' ')}: ${err}`);
    assert.match(String(err), sentence);
  }
  assert.match(await admin('organizations', 'list'), /^SLUG +NAME +MEMBERS .*\nacme +acme +1 .*\ndefault +Default +1 /);

  const [shown, wrong] = await Promise.all([
    quarterdeckCli(['admin', 'token', '-o', 'acme', '--json'], env),
    quarterdeckCli(['admin', 'token', '-o', 'nope'], env),
  ]);
  assert.equal(JSON.parse(shown.out).email, 'owner@acme.example', shown.err);
  assert.deepEqual(wrong, { code: 11, out: '', err: 'quarterdeck: there is no organization nope; there are acme, default\n' });
});
