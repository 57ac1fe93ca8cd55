import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { makeSigningRequest } from '../../../kernel/x509/issue.ts';
import { AuthorityLies, AuthorityRefuses, type Challenge, keyAuthorization, type Order } from '../clients/acme/index.ts';
import { checkChain } from '../rules/check-chain.ts';
import { registeredDomain } from '../rules/limits.ts';
import { renewalTime } from '../rules/pauses.ts';
import { chooseProof } from '../rules/proofs.ts';
import { isOrderedWithin, recordAttempt } from '../store/attempts.ts';
import * as store from '../store/certificates.ts';
import type { OpenAccount } from './account.ts';
import type { AcmeSettings } from './settings.ts';

type CertificateRow = store.CertificateRow;

/** One order, from where the row stands to its certificate. */
export interface Obtaining {
  app: App;
  settings: AcmeSettings;
  account: OpenAccount;
  signal: AbortSignal;
  /** As this run wrote it last. */
  row: CertificateRow;
}

/** Another process has gone on with this name, or it was taken away: there is nothing left to do here. */
export class Superseded extends Error {}

/** So long a run waits for the authority; then the next one goes on. */
const maxWaitMs = 60_000;
const firstPollMs = 250;
const maxPollMs = 5_000;
/** A proof and a signing request: an order that asks for more is asked for slowly. */
const maxSteps = 2;
/** Longer than authorities keep an order. */
const maxOrderDays = 8;

const positionOf = (column: 'private_key' | 'next_key', name: string) => `certificates.certificate.${column}.${name}`;

/**
 * Every step is stored before the request that needs it is made, and asks the authority where the order stands. So a killed run is continued from
 * the row: the order is found again, its proof is still answered, and the key of the signing request is there.
 */
export async function obtain(run: Obtaining): Promise<'issued' | 'waiting'> {
  const { account, settings, signal } = run;
  const { name, step, directory } = run.row;
  const deadline = performance.now() + maxWaitMs;
  let order = step !== 'idle' && directory === settings.directory ? await findOrder(run) : await beginOrder(run);
  for (let [asked, pollMs] = [0, firstPollMs]; ; asked++, pollMs = Math.min(maxPollMs, pollMs * 2)) {
    signal.throwIfAborted();
    if (order.status === 'processing' || (order.status !== 'valid' && asked >= maxSteps)) await sleep(pollMs, undefined, { signal });
    if (order.status === 'invalid')
      throw new AuthorityRefuses(order.error ?? { type: 'invalid', detail: `it could not verify ${name}` }, 403);
    if (order.status === 'pending') await proveName(run, order, deadline);
    else if (order.status === 'ready') order = await finalize(run, order);
    if (order.status === 'valid') {
      await keepCertificate(run, order);
      return 'issued';
    }
    if (performance.now() > deadline) return 'waiting';
    order = await account.requests.readOrder(run.row.order_url!, name);
  }
}

/** Writes over the version of this run, and over no other. */
async function advance(run: Obtaining, write: (tx: Tx, row: CertificateRow) => Promise<CertificateRow | undefined>): Promise<void> {
  const row = await run.app.db.write((tx) => write(tx, run.row));
  if (!row) throw new Superseded('the name was changed meanwhile');
  run.row = row;
}

async function beginOrder(run: Obtaining): Promise<Order> {
  const { app, settings, account } = run;
  const { name } = run.row;
  const { url, order } = await account.requests.order(name);
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const nextKey = app.secrets.seal(key, positionOf('next_key', name));
  await advance(run, async (tx, row) => {
    await recordAttempt(tx, { ...attemptOf(row), outcome: 'ordered' });
    return store.beginOrder(tx, row, { directory: settings.directory, orderUrl: url, nextKey });
  });
  return order;
}

/** An order that the authority does not know any more, or does not come to an end with, is replaced by another one. */
async function findOrder(run: Obtaining): Promise<Order> {
  const { app, account, row } = run;
  try {
    const order = await account.requests.readOrder(row.order_url!, row.name);
    const isOver = order.status === 'valid' || order.status === 'invalid';
    return isOver || (await app.db.read((tx) => isOrderedWithin(tx, row.name, maxOrderDays))) ? order : await beginOrder(run);
  } catch (error) {
    const isUnknown = error instanceof AuthorityRefuses && (error.status === 404 || error.type === 'malformed');
    if (!isUnknown) throw error;
    return beginOrder(run);
  }
}

export const attemptOf = ({ name, org_id, issued_at }: Pick<CertificateRow, 'name' | 'org_id' | 'issued_at'>) => ({
  name,
  org: org_id,
  registered: registeredDomain(name),
  isFirst: issued_at === null,
});

/** Shows the proof, has the authority look at it, and waits for its verdict. At the deadline the next run goes on. */
async function proveName(run: Obtaining, order: Order, deadline: number): Promise<void> {
  const { name } = run.row;
  let isStarted = false;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 2)) {
    const { authorization, retryAfterSeconds } = await run.account.requests.readAuthorization(order.authorizations[0]!, name);
    if (authorization.status === 'valid') return;
    if (authorization.status !== 'pending') {
      const told = authorization.challenges.find(({ error }) => error)?.error;
      throw new AuthorityRefuses(told ?? { type: 'unauthorized', detail: `it could not verify ${name}` }, 403);
    }
    if (!isStarted) await startProof(run, authorization.challenges);
    isStarted = true;
    if (performance.now() > deadline) return;
    await sleep(Math.max(pollMs, Math.min(retryAfterSeconds * 1_000, maxPollMs)), undefined, { signal: run.signal });
  }
}

/** A run that goes on with a proof keeps to the way that it was begun with: the authority may be looking at it. */
async function startProof(run: Obtaining, challenges: readonly Challenge[]): Promise<void> {
  const { settings, account, row } = run;
  const types = challenges.map(({ type }) => type);
  const begun = row.step === 'proving' ? types.find((type) => type === row.proof_type) : undefined;
  const chosen = begun ?? chooseProof(settings.proofs, types, row.failed_proof);
  const challenge = challenges.find(({ type }) => type === chosen);
  if (!challenge)
    throw new AuthorityRefuses(
      { type: 'unsupported', detail: `it offers no way to prove ${row.name} that is open here (${settings.proofs.join(', ')})` },
      400,
    );
  if (challenge.status !== 'pending') return;
  if (!begun) {
    const { type, token } = challenge;
    await advance(run, (tx, before) => store.openProof(tx, before, { type, token, proof: keyAuthorization(token, account.key) }));
  }
  await account.requests.startProof(challenge.url);
}

async function finalize(run: Obtaining, { finalize: url }: Order): Promise<Order> {
  await advance(run, store.beginIssuing);
  const { name, next_key } = run.row;
  const key = createPrivateKey(run.app.secrets.unseal(next_key!, positionOf('next_key', name)));
  return run.account.requests.finalize(url, name, makeSigningRequest(name, key));
}

/** Only a certificate for this name and our key replaces the one before. */
async function keepCertificate(run: Obtaining, order: Order): Promise<void> {
  const { app, account } = run;
  const { name, next_key } = run.row;
  if (order.certificate === undefined) throw new AuthorityLies('the authority says that the certificate is ready, and does not say where');
  const pem = await account.requests.download(order.certificate);
  const key = app.secrets.unseal(next_key!, positionOf('next_key', name));
  await advance(run, async (tx, row) => {
    const checked = checkChain(pem, { name, key: createPrivateKey(key), now: Date.parse(await now(tx)) });
    if (typeof checked === 'string') throw new AuthorityLies(`the authority sent a certificate that is not used: ${checked}`);
    const { chain, notBefore, notAfter } = checked;
    await recordAttempt(tx, { ...attemptOf(row), outcome: 'issued' });
    return store.keepIssued(tx, row, {
      chain,
      privateKey: app.secrets.seal(key, positionOf('private_key', name)),
      notAfter: new Date(notAfter).toISOString(),
      renewAt: new Date(renewalTime(notBefore, notAfter)).toISOString(),
    });
  });
  app.log.info({ event: 'certificates.issued', name }, 'a certificate was issued');
}
