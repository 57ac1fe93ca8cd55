import type { IncomingMessage } from 'node:http';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { type Loader, makePrincipals, topics } from '../../../../identity/principal.ts';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { markKnown } from '../../../../kernel/http/connections.ts';
import { agentByHash } from '../../store/agents.ts';
import type { ProberIdentity } from '../../store/instances.ts';

/** The calling prober. `signal` is aborted when its token may have been revoked. */
export interface Identity extends ProberIdentity {
  signal: AbortSignal;
  /** Called with the instance before its row is written, so that a stop knows which row to expire. */
  opens?(instance: string): void;
}

export type Identify = (request: IncomingMessage) => Identity | Promise<Identity>;

/** An agent belongs to the installation, not to an organization. */
const loadAgent: Loader = async (tx, hash) => {
  const agent = await agentByHash(tx, hash);
  if (!agent) return undefined;
  const live = agent.revoked_at === null;
  const principal = {
    id: agent.id,
    org: { id: '', slug: '' },
    entitlements: new Set<never>(),
    grants: new Map(),
    scopes: [],
    customRoles: {},
  };
  return {
    ttlMs: live ? Number.POSITIVE_INFINITY : 0,
    topics: [topics.credential(agent.id)],
    principal: live ? { ...principal, access: agent.vantage } : undefined,
  };
};

const kinds = new Set(['agent'] as const);

export function byToken(app: App): Identify {
  const principals = makePrincipals(app.db, app.caches, { agent: loadAgent });
  const attempts = makeAttempts(app);
  return async (request) => {
    const key = /^Bearer +([^ ]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const known = key === undefined ? undefined : principals.find(key, kinds, (secret, lookup) => attempts.lookUp(request, secret, lookup));
    const found = known instanceof Promise ? await known : known;
    if (found) {
      markKnown(request);
      return { vantage: found.access as string, agentId: found.id, signal: found.signal };
    }
    if (key !== undefined && !(known instanceof Promise)) attempts.failed(request);
    throw refused();
  };
}

export const refused = () =>
  new Refusal(
    401,
    'unauthenticated',
    'unauthenticated: this agent’s token is unknown or was revoked; make a new one with `quarterdeck admin agents create`',
  );

/** Only the server's own prober can connect here: the socket's directory is readable by this user alone. */
export const asLocal = (): Identity => ({ vantage: 'local', agentId: undefined, signal: new AbortController().signal });
