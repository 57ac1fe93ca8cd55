import type { Op, OpSpec } from '../../contract/common.ts';
import { kindsOf } from '../../contract/kinds.ts';
import type { Permission } from '../../contract/permissions.ts';
import type { App } from '../kernel/app.ts';
import { assertNoOutbound, readOnly, type Tx } from '../kernel/db/index.ts';
import { Refusal } from '../kernel/errors.ts';
import { hint } from '../kernel/jobs/index.ts';
import type { Visible } from '../kernel/sql.ts';
import { type IdempotentRequest, withIdempotency } from './idempotency.ts';
import { type Principal, reloadRevoking, reloadShared, type User } from './principal.ts';

/** What a handler knows of its caller, and its access to the database. */
export interface Ctx {
  app: App;
  principal: Principal;
  /** The acting organization's id: every statement carries it. */
  org: string;
  user: User;
  requestId: string;
  /** Which resources the operation's own permission reaches: lists filter by it in SQL. */
  visible: Visible;
  /** Which resources another permission reaches; undefined for none. */
  reach(permission: Permission): Visible | undefined;
  /** Refuses with 403 when the operation's permission does not reach this resource. Call it once the resource is known to exist. */
  require(id: string, permission?: Permission): void;
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * One transaction with the change, its audit row, and the answer to an Idempotency-Key. It begins by reading the caller's rights again:
   * the rights that `ctx` shows outside may be revoked. Nothing outside the database is called inside it, because its locks would be held
   * meanwhile; in tests such a call fails. `revokes`: the topics that it takes rights away from.
   */
  write<T>(work: (tx: Tx) => Promise<T>, options?: { revokes?: readonly string[] }): Promise<T>;
}

/** The context of a public operation: the caller may still have sent a valid token. */
export interface OpenCtx {
  app: App;
  principal: Principal | undefined;
  requestId: string;
  /** Where the request comes from. */
  address(): string;
  /** The key as sent, for operations that handle idempotency themselves. */
  idempotencyKey: string | undefined;
  read: Ctx['read'];
  write: Ctx['write'];
}

export type CtxOf<S extends OpSpec> = S['permission'] extends 'none' ? OpenCtx : Ctx;

export interface Call {
  app: App;
  spec: Op;
  principal: Principal | undefined;
  requestId: string;
  address(): string;
  idempotent: IdempotentRequest | undefined;
  idempotencyKey: string | undefined;
}

export function context(call: Call): OpenCtx | Ctx {
  const { app, spec, principal, requestId, address, idempotencyKey } = call;
  const acting: Acting = { principal };
  const read: Ctx['read'] = (work) => app.db.read((tx) => readOnly(tx, work));
  const write = makeWrite(call, acting);
  if (!principal?.user || spec.permission === 'none')
    return {
      app,
      get principal() {
        return acting.principal;
      },
      requestId,
      address,
      idempotencyKey,
      read,
      write,
    };

  const current = () => acting.principal as Principal & { user: User };
  const reach = (permission: Permission) => current().grants.get(permission);
  const own = spec.permission;
  const visible = (): Visible => (own === 'member' ? '*' : (reach(own) ?? new Set<string>()));
  return {
    app,
    get principal() {
      return current();
    },
    org: principal.org.id,
    get user() {
      return current().user;
    },
    requestId,
    get visible() {
      return visible();
    },
    reach,
    require: (id, permission) => {
      const held = permission ? reach(permission) : visible();
      if (held !== '*' && !held?.has(id)) throw lacking(permission ?? (spec.permission as Permission), ` on ${id}`);
    },
    read,
    write,
  };
}

/** The acting principal: as found when the request came, and inside `write` as read again there. */
interface Acting {
  principal: Principal | undefined;
}

/**
 * A transaction that begins with the locks of the caller's rights and reads these again: a revocation that commits before the operation
 * does is obeyed, however long the operation waited. From then on `ctx` tells the rights that were found here.
 */
const makeWrite =
  (call: Call, acting: Acting): Ctx['write'] =>
  async (work, { revokes = [] } = {}) => {
    const { app, spec, idempotent } = call;
    const { principal } = acting;
    const changes = principal && spec.method !== 'GET' ? kindsOf(spec) : [];
    const act = (tx: Tx) => {
      if (principal) hint(tx, principal.org.id, ...changes);
      return assertNoOutbound(tx, () => (idempotent ? withIdempotency(tx, idempotent, spec, () => work(tx)) : work(tx)));
    };
    if (!principal) return app.db.write(act);
    if (!revokes.length && principal.isLikelyUnchanged()) {
      try {
        return await app.db.write((tx) => actWhileReloading(tx, principal, act));
      } catch (error) {
        if (!(error instanceof RightsChanged)) throw error;
      }
    }
    return app.db.write(async (tx) => {
      const found = await (revokes.length ? reloadRevoking(tx, principal, revokes) : reloadShared(tx, principal));
      acting.principal = found;
      admitAgain(spec, found);
      return act(tx);
    });
  };

/** The rights changed after the work began: the transaction is rolled back. */
class RightsChanged extends Error {}

/**
 * Runs the work while the rights are read again, which saves a round trip: they nearly always are unchanged. Its statements follow the read
 * on the same connection, and no result is returned before the read is. When the rights have changed, the work has learnt nothing and is
 * rolled back.
 */
async function actWhileReloading<T>(tx: Tx, principal: Principal, act: (tx: Tx) => Promise<T>): Promise<T> {
  const unchanged = reloadShared(tx, principal).then((found) => {
    if (found !== principal) throw new RightsChanged();
  });
  unchanged.catch(() => {});
  const query: Tx['query'] = async (piece) => {
    const answer = tx.query(piece);
    answer.catch(() => {});
    await unchanged;
    return answer;
  };
  try {
    return await act({ ...tx, query });
  } finally {
    await unchanged; // before any refusal: that may be based on rights that are revoked
  }
}

/** Refuses as if the request came now. */
function admitAgain(spec: Op, principal: Principal | undefined) {
  if (isOpen(spec)) return;
  if (!principal) throw unknownToken(spec);
  requireEntitlement(spec, principal);
  if (spec.permission !== 'none') authorize(spec, principal);
}

/** A public operation. */
export const isOpen = (spec: Op) => spec.permission === 'none' && !spec.credential;

export const unauthenticated = (spec: Op, why: string) =>
  new Refusal(401, 'unauthenticated', `${spec.area.unauthenticated}: ${why}`, {
    headers: { 'www-authenticate': 'Bearer realm="quarterdeck"' },
  });

export const unknownToken = (spec: Op) => unauthenticated(spec, 'the token is unknown, disabled, expired or revoked');

export const lacking = (permission: Permission, where = '') =>
  new Refusal(
    403,
    'forbidden',
    `this needs the permission ${permission}${where}; ask an owner or admin of the organization for a role that holds it`,
  );

/** Checked before the request is read: a service that is switched off reveals nothing, not even what it would accept. */
export function requireEntitlement(spec: Op, principal: Principal) {
  if (spec.entitlement && !principal.entitlements.has(spec.entitlement))
    throw new Refusal(403, 'not_entitled', `${spec.area.label} is not enabled for this organization; ask the operator to enable it`);
}

/** The permission is checked before any lookup: a caller without it learns nothing about what exists. */
export function authorize(spec: Op, principal: Principal) {
  const lack = lackOf(spec, principal);
  if (lack) throw refusals[lack](spec.permission as Permission);
}

/** Whether the caller would be let in now, as far as it takes no lookup to tell. */
export const mayAsk = (spec: Op, principal: Principal): boolean =>
  (!spec.entitlement || principal.entitlements.has(spec.entitlement)) && lackOf(spec, principal) === undefined;

type Lack = 'wholePerson' | 'session' | 'freshSession' | 'permission' | 'reach';

function lackOf({ personal, session, fresh, permission, scoped }: Op, principal: Principal): Lack | undefined {
  if (personal && principal.scopes.length) return 'wholePerson';
  if (session && !principal.session) return 'session';
  if (fresh && principal.session && !principal.session.isFresh) return 'freshSession';
  if (permission === 'member' || permission === 'none') return undefined;
  const held = principal.grants.get(permission);
  if (held === undefined) return 'permission';
  return held === '*' || scoped ? undefined : 'reach';
}

const refusals: Record<Lack, (permission: Permission) => Refusal> = {
  wholePerson: () =>
    new Refusal(
      403,
      'narrowed_token',
      'this is about the person behind the token, and the token is narrowed; use one that is not, minted without a scope',
    ),
  session: () =>
    new Refusal(403, 'session_required', 'only a person who is signed in may do this, not a token; open the account page in a browser'),
  freshSession: () =>
    new Refusal(
      403,
      'reauthenticate',
      'you signed in more than 15 minutes ago: prove on the page /sign-in/again that it is you, and try again',
    ),
  permission: (permission) => lacking(permission),
  reach: (permission) => lacking(permission, ' on the whole organization'),
};
