import type { Op, OpSpec } from '../../contract/common.ts';
import type { Permission } from '../../contract/permissions.ts';
import type { App } from '../kernel/app.ts';
import type { Tx } from '../kernel/db/index.ts';
import { Refusal } from '../kernel/errors.ts';
import type { Visible } from '../kernel/sql.ts';
import { type IdempotentRequest, remembered } from './idempotency.ts';
import type { Principal, User } from './principal.ts';

/** What a handler knows of its caller, and its way to the database. */
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
  /** One transaction holding the change, its audit row, and the answer to an Idempotency-Key. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** An operation without a guard: it may still have been called with a good token. */
export interface OpenCtx {
  app: App;
  principal: Principal | undefined;
  requestId: string;
  /** As a machine sent it, for operations that keep what it made themselves. */
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
  idempotent: IdempotentRequest | undefined;
  idempotencyKey: string | undefined;
}

export function context({ app, spec, principal, requestId, idempotent, idempotencyKey }: Call): OpenCtx | Ctx {
  const read: Ctx['read'] = (work) => app.db.read(work);
  const write: Ctx['write'] = (work) => app.db.write((tx) => (idempotent ? remembered(tx, idempotent, spec, () => work(tx)) : work(tx)));
  if (!principal?.user || spec.permission === 'none') return { app, principal, requestId, idempotencyKey, read, write };

  const reach = (permission: Permission) => principal.grants.get(permission);
  const visible: Visible = spec.permission === 'member' ? '*' : (reach(spec.permission) ?? new Set<string>());
  return {
    app,
    principal,
    org: principal.org.id,
    user: principal.user,
    requestId,
    visible,
    reach,
    require: (id, permission) => {
      const held = permission ? reach(permission) : visible;
      if (held !== '*' && !held?.has(id)) throw lacking(permission ?? (spec.permission as Permission), ` on ${id}`);
    },
    read,
    write,
  };
}

export const lacking = (permission: Permission, where = '') =>
  new Refusal(
    403,
    'forbidden',
    `this needs the permission ${permission}${where}; ask an owner or admin of the organization for a role that holds it`,
  );

/** Said before anything of the request is read: of a service that is switched off nothing shows, not even what it would take. */
export function requireEntitlement(spec: Op, principal: Principal) {
  if (spec.entitlement && !principal.entitlements.has(spec.entitlement))
    throw new Refusal(403, 'not_entitled', `${spec.area.label} is not enabled for this organization; ask the operator to enable it`);
}

/** Permission before anything is looked up: a caller without the atom learns nothing of what exists. */
export function authorize(spec: Op, principal: Principal) {
  if (spec.personal && principal.scopes.length) {
    throw new Refusal(
      403,
      'narrowed_token',
      'this is about the person behind the token, and the token is narrowed; use one that is not, minted without a scope',
    );
  }
  if (spec.permission === 'member' || spec.permission === 'none') return;
  const held = principal.grants.get(spec.permission);
  if (held === undefined) throw lacking(spec.permission);
  if (held !== '*' && !spec.scoped) throw lacking(spec.permission, ' on the whole organization');
}
