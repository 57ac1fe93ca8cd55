import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Op } from '../../../../contract/common.ts';
import { contract } from '../../../../contract/index.ts';
import { builtinRoles, organizationRoles } from '../../../../contract/permissions.ts';
import type { Rights } from '../../../../sdk/generated/api.ts';
import { type Guard, refusalCode } from '../../../../sdk/guards.ts';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { authorize, requireEntitlement } from '../../../identity/context.ts';
import { makePrincipals, type Principal } from '../../../identity/principal.ts';
import { loadSession, loadToken } from '../../../identity/rights.ts';
import { run } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';

const guards: Record<string, Guard> = JSON.parse(readFileSync(new URL('../../../../sdk/generated/guards.json', import.meta.url), 'utf8'));

interface Asking {
  who: string;
  rights: Rights;
  principal: Principal;
  /** The status and the code of a GET. */
  get(path: string): Promise<{ status: number; code: string | null }>;
}

test('what a caller is told of their rights is what the guard decides, for every operation', async (t) => {
  const qd = await quarterdeck(t);
  const callers = await everyone(qd);
  const told = new Map<string, number>();
  for (const { who, rights, principal, get } of callers) {
    for (const spec of contract.filter(({ id }) => guards[id] && !guards[id].foreign)) {
      const expected = refusalCode(guards[spec.id]!, rights);
      assert.equal(guardCode(spec, principal), expected, `${spec.id} as ${who}`);
      told.set(expected ?? 'allowed', (told.get(expected ?? 'allowed') ?? 0) + 1);
    }
    for (const id of ['listIncidents', 'listMonitors', 'listAudit', 'listMembers', 'listSessions', 'listGrants', 'listDomains']) {
      const { status, code } = await get(contract.find((op) => op.id === id)!.path);
      assert.equal(status === 403 ? code : undefined, refusalCode(guards[id]!, rights), `${id} as ${who}, asked`);
    }
  }
  for (const code of ['allowed', 'forbidden', 'not_entitled', 'narrowed_token', 'session_required', 'reauthenticate'])
    assert.ok(told.get(code)! > 0, `${code} was never told`);
});

test('rights are told as they are now', async (t) => {
  const qd = await quarterdeck(t);
  const member = await qd.member(qd.owner, 'member');
  const rights = async (): Promise<Rights> => (await member.get('/me/rights')).body;
  assert.deepEqual(await rights(), {
    role: 'member',
    permissions: {},
    entitlements: ['email', 'uptime'],
    narrowed: false,
    session: false,
    fresh: true,
    secondFactorRequired: false,
  });

  const { body: service } = await qd.owner.post('/oncall/services', { name: 'web' });
  const granted = await qd.owner.post('/iam/grants', { subject: member.userId, role: 'oncall.viewer', resourceIds: [service.id] });
  assert.equal(granted.status, 201);
  assert.deepEqual((await rights()).permissions['oncall.incident.read'], [service.id]);
  await qd.owner.patch(`/organization/members/${member.userId}`, { role: 'admin' });
  const { role, permissions } = await rights();
  assert.deepEqual([role, permissions['oncall.incident.read'], permissions['organization.ownership.admin']], ['admin', '*', undefined]);

  // A narrowed token has the role of its owner, and less of what it gives.
  const token = await qd.narrowed(member, [{ role: 'uptime.viewer' }]);
  const { body: less } = await token.get('/me/rights');
  assert.deepEqual(
    [less.role, less.narrowed, Object.keys(less.permissions)],
    ['admin', true, ['uptime.service.read', 'uptime.monitor.read', 'uptime.export.read']],
  );

  const browser = await signedIn(qd, qd.owner.userId);
  const told = (await browser.api('GET', '/me/rights')).body as Rights;
  assert.deepEqual([told.role, told.session, told.fresh], ['owner', true, true]);
  await qd.clock.advance('16m');
  assert.equal((await browser.api('GET', '/me/rights')).body.fresh, false);
  assert.equal((await member.get('/me/rights')).body.fresh, true);
});

/** Each role by token, narrowed tokens, sessions that are fresh and stale, and an organization that is entitled to nothing. */
async function everyone(qd: Quarterdeck): Promise<Asking[]> {
  const principals = makePrincipals(qd.app.db, qd.app.caches, { pat: loadToken, sess: loadSession });
  const byToken = async (who: string, someone: { key: string; get(path: string): ReturnType<typeof qd.owner.get> }): Promise<Asking> => {
    const get = async (path: string) => {
      const { status, headers } = await someone.get(path);
      return { status, code: headers.get('x-error-code') };
    };
    const principal = (await principals.find(someone.key, new Set(['pat'])))!;
    return { who, principal, get, rights: (await someone.get('/me/rights')).body };
  };

  const found: Asking[] = [];
  for (const { id: role } of builtinRoles) {
    const isOrganizationRole = (organizationRoles as readonly string[]).includes(role);
    const member = await qd.member(qd.owner, isOrganizationRole ? (role as 'member') : 'member');
    if (!isOrganizationRole) await qd.owner.post('/iam/grants', { subject: member.userId, role });
    found.push(await byToken(role, member));
  }
  const { body: service } = await qd.owner.post('/oncall/services', { name: 'web' });
  found.push(await byToken('narrowed to a service', await qd.narrowed(qd.owner, [{ role: 'oncall.admin', resourceIds: [service.id] }])));
  const bare = await qd.organization('bare');
  await qd.app.db.write((tx) => run(tx)`update identity.org set entitlements = '{}' where id = ${bare.orgId}`);
  await qd.app.db.write((tx) => qd.app.caches.drop(tx, '*'));
  found.push(await byToken('of an organization without entitlements', bare));

  for (const age of ['fresh', 'stale']) {
    const browser = await signedIn(qd, qd.owner.userId);
    if (age === 'stale') await qd.clock.advance('20m');
    const key = browser.cookies.get('qd')!;
    const principal = (await principals.find(key, new Set(['sess']), undefined, undefined))!;
    const get = async (path: string) => browser.api('GET', path);
    found.push({ who: `${age} session`, principal, get, rights: (await browser.api('GET', '/me/rights')).body });
  }
  return found;
}

/** The code with which the guard refuses. */
function guardCode(spec: Op, principal: Principal): string | undefined {
  try {
    requireEntitlement(spec, principal);
    authorize(spec, principal);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
}
