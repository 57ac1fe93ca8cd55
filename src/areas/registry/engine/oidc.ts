import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { tooMany } from '../../../identity/attempts.ts';
import { audit } from '../../../identity/audit.ts';
import type { App } from '../../../kernel/app.ts';
import { boundedTo } from '../../../kernel/bounded-map.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal, unreachable } from '../../../kernel/errors.ts';
import { decide, parseAllow } from '../../../kernel/guard/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { append } from '../../../kernel/steps.ts';
import { BadToken, type Issuers, IssuerUnreachable, isClaimText, makeIssuers } from '../clients/issuers.ts';
import { bestOf, mismatchOf } from '../rules/oidc-match.ts';
import { insertKey, type KeyRow, keyByHash, type Mode } from '../store/keys.ts';
import { isJobKeyLimitReached, maxJobKeysPerRegistry } from '../store/limits.ts';
import { type CandidateRow, candidates, candidatesPerRead, isTrusted, shareRule } from '../store/rules.ts';
import type { Clock } from './credentials/clock.ts';
import type { ForeignLogin } from './credentials/index.ts';

/** The key that a CI job gets for its ID token. */
export interface MintedKey {
  key: KeyRow;
  expiresIn: number;
}

export interface Oidc {
  /** Mints a key with this hash, or refuses with 401. `mode`: the mode that the job asks for. */
  exchange(token: string, slug: string, keyHash: Buffer, mode?: Mode, requestId?: string): Promise<MintedKey>;
  login: ForeignLogin;
  /** Whether an issuer at this address may speak plain http. */
  mayBePlain(host: string): boolean;
}

const lifetimeSeconds = 3600;
/** GitHub's tokens have two kilobytes. A longer token than this is not parsed. */
const maxTokenLength = 16_384;

const noRule = () =>
  new Refusal(
    401,
    'unauthenticated',
    'unauthenticated: no rule matches this token; check the issuer, audience and subject against the registry’s OIDC rules',
  );

const refuse = (): never => {
  throw noRule();
};

/** Caches the keys of issuers. */
export function makeOidc(app: App, clock: Clock): Oidc {
  // Plain http is accepted on loopback and at addresses that the operator allowed. Elsewhere an issuer is trusted by its TLS.
  const [allowed, nothing] = [parseAllow(app.config.allow_private_cidrs), parseAllow('')];
  const mayBePlain = (host: string) => decide(allowed, 'oidc', host).allowed && !decide(nothing, 'oidc', host).allowed;
  const issuers = makeIssuers({ guard: app.guard, log: app.log, clock, mayBePlain });

  const exchange: Oidc['exchange'] = async (token, slug, keyHash, mode, requestId) => {
    const { rule, subject } = await matchRule(app, issuers, token, slug, mode);
    return app.db.write((tx) => mintKey(tx, rule, { subject, slug, keyHash, mode: mode ?? rule.mode, requestId }));
  };
  const check = (token: string) => checkToken(app, issuers, token);
  return { exchange, login: loginByToken(app, exchange, check), mayBePlain };
}

/**
 * An ID token used as a password stands for one key. A second login within the hour finds that key, even if the token has expired (GitHub's
 * lives 5 minutes, a build longer) or the key was revoked.
 */
function loginByToken(app: App, exchange: Oidc['exchange'], check: (token: string) => Promise<void>): ForeignLogin {
  const seen = new LRUCache<string, true>(boundedTo(10_000));
  return {
    handles: ({ username }) => username === 'oidc' || (username?.startsWith('oidc+') ?? false),
    resolve: async ({ username = '', password }, asked) => {
      const slug = username.startsWith('oidc+') ? username.slice(5) : asked;
      try {
        if (slug === undefined) {
          await check(password);
          return 'nothing';
        }
        const keyHash = hash('sha256', `oidc ${slug} ${password}`, 'buffer');
        const cacheKey = keyHash.toString('latin1');
        const known = () => app.db.read((tx) => keyByHash(tx, keyHash));
        if (!seen.has(cacheKey) && !(await known())) {
          // Of two concurrent requests one mints the key; the slower insert finds it.
          await exchange(password, slug, keyHash).catch(async (error) => {
            if (!(await known())) throw error;
          });
        }
        seen.set(cacheKey, true);
        return keyHash;
      } catch (error) {
        if (error instanceof Refusal && error.status === 401) return undefined;
        throw error;
      }
    },
  };
}

/** The claims of a token, verified with its issuer's keys. Throws 401 for an invalid token. */
async function verifyToken(app: App, issuers: Issuers, issuer: string, token: string) {
  return issuers.verify(issuer, token).catch((error) => {
    if (error instanceof IssuerUnreachable) return unreachable(`${error.message}; try again in a moment`, { cause: error });
    if (!(error instanceof BadToken)) throw error;
    app.log.info({ issuer, reason: error.message }, 'an OIDC token was refused');
    throw noRule();
  });
}

/**
 * A login without a registry gets no rights, so it is enough that some rule trusts the issuer and audience. Matching the rules of every
 * organization would be expensive.
 */
async function checkToken(app: App, issuers: Issuers, token: string): Promise<void> {
  const issuer = (await issuerOf(token)) ?? refuse();
  if (!(await app.db.read((tx) => isTrusted(tx, issuer, null)))) refuse();
  const { audiences } = await verifyToken(app, issuers, issuer, token);
  if (!(await app.db.read((tx) => isTrusted(tx, issuer, audiences)))) refuse();
}

/** The rule of a registry that admits a token. Throws 401 for an invalid token. */
async function matchRule(app: App, issuers: Issuers, token: string, slug: string, mode: Mode | undefined) {
  if (!isClaimText(slug)) refuse(); // a user name may contain any byte
  const issuer = (await issuerOf(token)) ?? refuse();
  const sliceAfter = (after: number) => app.db.read((tx) => candidates(tx, issuer, slug, after));
  // Rules are looked up first, so no client makes us fetch from an issuer that no rule trusts.
  let rules = await sliceAfter(0);
  const first = rules[0] ?? refuse();
  const { subject, audiences } = await verifyToken(app, issuers, issuer, token);
  const fits: CandidateRow[] = [];
  for (; rules.length; rules = rules.length < candidatesPerRead ? [] : await sliceAfter(rules.at(-1)!.id))
    append(
      fits,
      rules.filter((rule) => mismatchOf(rule, { issuer, subject, audiences }) === undefined),
    );
  const rule = bestOf(fits, mode);
  if (!rule) await auditRefused(app, first, slug, subject, audiences);
  return { rule: rule ?? refuse(), subject };
}

/** The cut may split a surrogate pair. */
const shorten = (text: string) => text.slice(0, 200).toWellFormed();

/** A valid token without a matching rule usually means a wrong rule, so it is shown in the organization's audit log. */
const auditRefused = (app: App, { org_id: org, registry_id: id }: CandidateRow, slug: string, subject: string, audiences: string[]) =>
  app.db.write((tx) =>
    audit(
      tx,
      { org, user: { id: 'oidc', email: 'oidc' } },
      'registry.oidc.refuse',
      { id },
      { slug, subject: shorten(subject), audience: audiences.slice(0, 5).map(shorten) },
    ),
  );

interface KeyRequest {
  subject: string;
  slug: string;
  keyHash: Buffer;
  mode: Mode;
  requestId: string | undefined;
}

async function mintKey(tx: Tx, rule: CandidateRow, { subject, slug, keyHash, mode, requestId }: KeyRequest): Promise<MintedKey> {
  if (!(await shareRule(tx, rule))) throw noRule();
  if (await isJobKeyLimitReached(tx, rule.registry_id))
    throw tooMany(`jobs have minted ${maxJobKeysPerRegistry} keys for the registry ${slug} within an hour, which is the most`, 60);
  hint(tx, rule.org_id, 'registry.key');
  const key = await insertKey(tx, rule.org_id, {
    registryId: rule.registry_id,
    name: rule.name,
    hash: keyHash,
    mode,
    prefixes: rule.prefixes,
    mintedVia: 'oidc',
    ruleId: rule.id,
    expiresIn: lifetimeSeconds,
  });
  if (!key) throw noRule();
  const actor = { org: rule.org_id, user: { id: `oidc:${rule.id}`, email: shorten(subject) }, ...(requestId ? { requestId } : {}) };
  await audit(
    tx,
    actor,
    'registry.key.create',
    { id: key.key_id },
    { slug, via: 'oidc', rule: rule.id, mode, repoPrefixes: rule.prefixes },
  );
  return { key, expiresIn: lifetimeSeconds };
}

async function issuerOf(token: string): Promise<string | undefined> {
  if (token.length > maxTokenLength) return undefined;
  const { decodeJwt } = await import('jose'); // fifty files, loaded on first use
  try {
    const { iss } = decodeJwt(token);
    return isClaimText(iss) && iss.length <= 2048 ? iss : undefined;
  } catch {
    return undefined;
  }
}
