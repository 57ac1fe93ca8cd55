import { audit } from '../../../identity/audit.ts';
import { checkRoleUses, type WantedUse } from '../../../identity/engine/scopes.ts';
import { topics } from '../../../identity/principal.ts';
import { loadMinter } from '../../../identity/rights.ts';
import { lockRights } from '../../../identity/rights-lock.ts';
import { browserUrl } from '../../../identity/rules/browser-url.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import { hashKey, kindOf, mintKey } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { forbidden, notFound, Refusal } from '../../../kernel/errors.ts';
import { mintToken } from '../../tokens/index.ts';
import { programName } from '../rules/program-name.ts';
import { makeUserCode, readUserCode, shownCode } from '../rules/user-code.ts';
import {
  type Approval,
  approveRequest,
  countOpen,
  countTyped,
  type DeviceRequest,
  insertDeviceRequest,
  notePoll,
  refuseRequest,
  requestByDevice,
  requestByUserCode,
  takeApproved,
  uncountTyped,
} from '../store/device-requests.ts';
import { tellPerson } from './notices.ts';
import { record, requireLive, type Visitor } from './sessions.ts';

// How a program gets a token of a person, who has a browser elsewhere. The program asks for two codes; the person types the short one on
// /device and approves; the program claims its token with the long one.
//
// States: asked → approved → claimed (the row is deleted in the transaction that mints), or refused, or over after 10 minutes. A kill before
// a commit leaves the state before it, so an approval can be claimed until it is over. A claim whose answer is lost leaves an unused token:
// the person finds it in the list, and the program asks anew.

const lifetimeSeconds = 600;
export const intervalSeconds = 5;
/** Clocks and networks differ: a program that waits as told is never too early. */
const minSecondsBetweenPolls = 4;
/**
 * Open requests of an address, and a few more where several are counted at once. Strangers with many addresses can have many open: beyond
 * `manyOpen` an address has few, so that they keep no person from logging in.
 */
const maxOpenByAddress = 200;
const manyOpen = 10_000;
const maxOpenByAddressWhenMany = 5;
/** Wrong codes that a person may type in an hour. */
const maxWrongCodes = 20;

/** Makes the two codes. */
export async function askForApproval(
  tx: Tx,
  { publicUrl }: Pick<App, 'publicUrl'>,
  asks: { program: string | undefined; address: string },
) {
  const program = programName(asks.program);
  const { here, everywhere } = await countOpen(tx, asks.address, { here: maxOpenByAddress, everywhere: manyOpen });
  if (here >= (everywhere < manyOpen ? maxOpenByAddress : maxOpenByAddressWhenMany))
    throw new Refusal(429, 'rate_limited', 'too many logins wait for an approval; answer or let them end, and try again in 10 minutes', {
      headers: { 'retry-after': String(lifetimeSeconds) },
    });
  const { key, hash } = mintKey('dev');
  for (;;) {
    const userCode = makeUserCode();
    const made = await insertDeviceRequest(tx, { ...asks, program, hash, userCode, seconds: lifetimeSeconds });
    if (!made) continue; // the code is taken, which is as likely as a lottery's first prize
    return {
      deviceCode: key,
      userCode: shownCode(userCode),
      verificationUrl: `${browserUrl(publicUrl())}/device`,
      expiresAt: made.expires_at,
      intervalSeconds,
    };
  }
}

/** What the typed code belongs to. Wrong codes of a person are counted in the database, so that all processes agree. */
export async function findByTypedCode({ db }: Pick<App, 'db'>, person: SignedIn, typed: string): Promise<DeviceRequest> {
  const code = readUserCode(typed) ?? wrongCode('a code has eight letters, like BCDF-GHJK; look at it again');
  const found = await db.write(async (tx) => {
    if ((await countTyped(tx, person.id)) > maxWrongCodes) return 'too many';
    const request = await requestByUserCode(tx, code);
    if (request) await uncountTyped(tx, person.id);
    return request;
  });
  if (found === 'too many')
    throw new Refusal(429, 'rate_limited', 'too many wrong codes; wait an hour, and type the code from your own screen then');
  return (
    found ??
    wrongCode('no program waits with this code: it was used, it is over, or a letter is wrong; look at it again, or ask for another')
  );
}

const wrongCode = (sentence: string): never => {
  throw new Refusal(404, 'not_found', sentence);
};

export interface Choice {
  org: string;
  /** Null: everything that the person may do. */
  scope: readonly WantedUse[] | null;
  days: number;
}

/** Approves within the rights that the person holds in this session. They are read again when the token is fetched. */
export async function approve(
  tx: Tx,
  app: Pick<App, 'mail' | 'publicUrl'>,
  person: SignedIn,
  { id, program, address }: DeviceRequest,
  { org, scope, days }: Choice,
  visitor: Visitor,
): Promise<void> {
  const principal = await principalIn(tx, org, person.id, person.session_id);
  const checked = scope && (await checkRoleUses(tx, { org, principal }, scope, []));
  if (checked && !checked.length) forbidden('you hold none of these rights here; choose others, or another organization');
  const approval = { sessionId: person.session_id, days, roles: checked };
  if (!(await approveRequest(tx, id, { userId: person.id, org, approval })))
    wrongCode('this login was answered already, or is over; ask for another code');
  const actor = { org, user: person, principal: { id: person.session_id }, requestId: visitor.requestId };
  await audit(tx, actor, 'account.device.approve', { id }, { program, address, days, scope: checked ?? [] });
  await tellPerson(tx, app, person, {
    subject: 'A program may act for you',
    text: `You approved that “${program}”, which asked from ${address}, acts for you for ${days} days. If that was not you, revoke its token and change your password.`,
  });
}

export async function refuse(tx: Tx, person: SignedIn, { id, program, address }: DeviceRequest, visitor: Visitor): Promise<void> {
  await requireLive(tx, person.session_id);
  if (!(await refuseRequest(tx, id))) wrongCode('this login was answered already, or is over');
  await record(tx, person, visitor, 'account.device.refuse', id, { program, address });
}

/** Rights of a person in the session that approved: none once it ended or the person left. */
async function principalIn(tx: Tx, org: string, userId: string, sessionId: string) {
  const loaded = await loadMinter(tx, org, sessionId);
  if (loaded?.refusal) throw loaded.refusal;
  const principal = loaded && loaded.ttlMs > 0 ? loaded.principal : undefined;
  const { user } = principal ?? {};
  return principal && user?.id === userId ? { ...principal, user } : denied('the person who approved is signed out');
}

/** Mints the approved token, once. */
export async function claimToken(app: App, deviceCode: string, requestId: string) {
  const hash = kindOf(deviceCode) === 'dev' ? hashKey(deviceCode) : unknownCode();
  const seen = (await app.db.read((tx) => requestByDevice(tx, hash))) ?? unknownCode();
  if (seen.is_over) expired();
  if (seen.is_refused) denied('the person refused');
  if (seen.approved_by === null) return pending(app, seen);
  return app.db.write((tx) => mintApproved(tx, app, seen as Approved, requestId));
}

type Approved = DeviceRequest & { approved_by: string; org_id: string; approval: Approval };

async function pending({ db }: Pick<App, 'db'>, { id }: DeviceRequest): Promise<never> {
  if (await db.write((tx) => notePoll(tx, id, minSecondsBetweenPolls)))
    throw new Refusal(409, 'authorization_pending', `the code is not approved yet; ask again in ${intervalSeconds} s`);
  throw new Refusal(409, 'slow_down', `asked again too soon; wait ${intervalSeconds} s between two claims`);
}

/** The locks of the approver's rights come first: what is taken away before the commit is not minted (decision 0019). */
async function mintApproved(tx: Tx, app: App, { id, program, approved_by, org_id: org, approval }: Approved, requestId: string) {
  const { sessionId, days, roles } = approval; // they change no more once they are there
  await lockRights(tx, org, { shares: [topics.session(approved_by, sessionId), topics.user(org, approved_by), topics.roles(org)] });
  if (!(await takeApproved(tx, id))) unknownCode();
  const principal = await principalIn(tx, org, approved_by, sessionId).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'organization_mismatch') denied('the person who approved has left the organization');
    throw error;
  });
  const by = { app, org, user: principal.user, principal, requestId };
  const wanted = { name: program, expiresIn: days * 86_400, ...(roles ? { scope: roles } : {}) };
  const { id: tokenId, key, expiresAt } = await mintToken(tx, by, wanted, []);
  return { tokenId, key, orgSlug: principal.org.slug, userId: approved_by, expiresAt };
}

const unknownCode = () => notFound('device code: it was used, or never given; ask for another');

const expired = () => {
  throw new Refusal(404, 'expired', 'the code is over: it was not approved in time; ask for another');
};

const denied = (why: string): never => {
  throw new Refusal(403, 'access_denied', `${why}; ask for another code`);
};
