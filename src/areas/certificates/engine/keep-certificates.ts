import { randomInt } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import { runFor, systemContext } from '../../../kernel/fairness/index.ts';
import { channelNamed } from '../../../kernel/jobs/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { type Acme, AuthorityAway, AuthorityLies, AuthorityRefuses } from '../clients/acme/index.ts';
import { findUsedUp } from '../rules/limits.ts';
import { type FailureKind, pauseSeconds } from '../rules/pauses.ts';
import { countRecent, deleteOldAttempts, recordAttempt } from '../store/attempts.ts';
import { findAuthority, isPaused, pauseAuthority, unpauseAuthority } from '../store/authorities.ts';
import * as store from '../store/certificates.ts';
import { forgetAccount, isEnded, type OpenAccount, openAccount } from './account.ts';
import { attemptOf, obtain, Superseded } from './obtain.ts';
import { type AcmeSettings, wantedHosts } from './settings.ts';
import { warnOperator } from './warn-operator.ts';

/** Wakes the task, by its name. */
export const certificatesDue = channelNamed('certificates.keep');

/** Names that are worked on at once: an authority that checks one slowly does not hold up the others. */
const maxAtOnce = 4;
const maxPerRun = 40;
/** A refusal that names no time, of what we ask too often. */
const rateLimitedSeconds = 3_600;
/** A whole authority is not left alone for longer because one of its names has reached a limit. */
const maxAuthorityPauseSeconds = 900;
/** What it sent is not believed; soon again would be the same. */
const lieSeconds = 3_600;

export interface KeepRun {
  app: App;
  settings: AcmeSettings;
  makeAcme: (signal: AbortSignal) => Acme;
  signal: AbortSignal;
  log: Logger;
}

/** Orders what is missing and renews what is due: one run of the task. */
export async function keepCertificates(run: KeepRun): Promise<void> {
  const { app, settings, log } = run;
  if (!app.presented.isListening || app.hold.isHeld) return;
  const hosts = wantedHosts(app.config);
  await app.db.write(async (tx) => {
    await store.wantHosts(tx, hosts);
    await store.deleteForgotten(tx, hosts);
    await deleteOldAttempts(tx);
  });
  await orderDue(run, hosts);
  await warnOperator(app, settings, hosts, log);
}

async function orderDue(run: KeepRun, hosts: readonly string[]): Promise<void> {
  const { app, settings, signal } = run;
  const acme = run.makeAcme(signal);
  for (let worked = 0; worked < maxPerRun && !signal.aborted; ) {
    const due = await app.db.read(async (tx) => ((await isPaused(tx, settings.directory)) ? [] : store.listDue(tx, hosts, maxAtOnce)));
    const ready = (await Promise.all(due.map((row) => claim(run, row)))).filter((row) => row !== undefined);
    if (due.length === 0) return;
    worked += due.length;
    if (ready.length === 0) continue;
    const account = await openAccountOrPause(run, acme, ready);
    if (!account) return;
    await Promise.all(ready.map((row) => runFor({ ...systemContext, operation: certificatesDue }, () => work(run, account, row))));
  }
}

/** Longer than a run works on one name. A task whose lease has lapsed may still work beside the next one. */
const claimSeconds = 180;

/**
 * The name for this run alone, if it is within the limits and the DNS leads it here; an order under way only goes on. Undefined: another run
 * works on it, or it waits, and its row says why.
 */
async function claim({ app }: KeepRun, due: store.CertificateRow): Promise<store.CertificateRow | undefined> {
  const row = await app.db.write((tx) => store.claimName(tx, due, claimSeconds));
  if (row?.step !== 'idle') return row;
  const recent = await app.db.read((tx) => countRecent(tx, attemptOf(row)));
  const usedUp = findUsedUp(recent, attemptOf(row));
  const waiting = usedUp ?? (await findNoAddress(app, row));
  if (!waiting) return row;
  await app.db.write((tx) => store.giveUpOrder(tx, row, { ...waiting, isFailure: !usedUp }));
  return undefined;
}

/** An authority would count a name without an address as a failure of ours. */
async function findNoAddress({ dns }: App, { name, failures }: store.CertificateRow) {
  const answers = await Promise.all([dns.lookup(name, 'A'), dns.lookup(name, 'AAAA')]);
  if (answers.some(({ outcome }) => outcome === 'found')) return undefined;
  const isUnanswered = answers.some(({ outcome }) => outcome === 'servfail' || outcome === 'timeout');
  const sentence = isUnanswered
    ? `the DNS does not answer what ${name} is; no certificate can be ordered until it does`
    : `${name} has no address in the DNS; publish one that leads here, and its certificate is ordered`;
  return { sentence, nextInSeconds: pauseSeconds('waiting', failures + 1, randomPart()) };
}

/** Without an account nothing can be ordered: the reason stands at the authority, and the whole run ends. */
async function openAccountOrPause(run: KeepRun, acme: Acme, claimed: readonly store.CertificateRow[]): Promise<OpenAccount | undefined> {
  try {
    return await openAccount(run.app, acme, run.settings);
  } catch (error) {
    if (run.signal.aborted) throw error;
    await pause(run, error, claimed);
    return undefined;
  }
}

async function work(run: KeepRun, account: OpenAccount, row: store.CertificateRow): Promise<void> {
  const { app, settings, signal, log } = run;
  const obtaining = { app, settings, account, signal, row };
  try {
    const outcome = await obtain(obtaining);
    await app.db.write(async (tx) => {
      if (outcome === 'waiting') await store.claimName(tx, obtaining.row, nextRunSeconds);
      await unpauseAuthority(tx, settings.directory);
    });
  } catch (error) {
    if (signal.aborted) {
      await handBack(app, obtaining.row);
      throw error;
    }
    if (error instanceof Superseded) return;
    log.warn({ event: 'certificates.failed', name: row.name, err: error }, 'a certificate could not be obtained; it is tried again');
    const isAccountEnded = await isEnded(error, account.requests);
    if (isAccountEnded) await forgetAccount(app, settings, account.url);
    // An authority that takes no account of ours is not given one after the other.
    if (error instanceof AuthorityAway || isAccountEnded) await pause(run, error, [obtaining.row]);
    else await fail(run, obtaining.row, error);
  }
}

/** This process stops: the next one need not wait for the claim to lapse. If it cannot be written, it lapses. */
const handBack = (app: App, row: store.CertificateRow): Promise<unknown> =>
  app.db.write((tx) => store.claimName(tx, row, 0)).catch(() => undefined);

/** In [0, 1). */
const randomPart = (): number => randomInt(1_000) / 1_000;

const nextRunSeconds = 20;

/** The authority is left alone for a while; the claimed names stay as they are, and go on afterwards. */
async function pause({ app, settings: { directory } }: KeepRun, error: unknown, claimed: readonly store.CertificateRow[]): Promise<void> {
  const { retryAfterSeconds = 0 } = error as { retryAfterSeconds?: number };
  await app.db.write(async (tx) => {
    const failures = (await findAuthority(tx, directory))?.failures ?? 0;
    const seconds = pauseSeconds('away', failures + 1, randomPart(), retryAfterSeconds);
    await pauseAuthority(tx, directory, { sentence: (error as Error).message, seconds });
    for (const row of claimed) await store.claimName(tx, row, 0);
  });
}

/** The order of one name is over. */
async function fail({ app, settings: { directory } }: KeepRun, row: store.CertificateRow, error: unknown): Promise<void> {
  const { kind, sentence, retryAfterSeconds } = failureOf(error);
  await app.db.write(async (tx) => {
    const nextInSeconds = pauseSeconds(kind, row.failures + 1, randomPart(), retryAfterSeconds);
    if (!(await store.giveUpOrder(tx, row, { sentence, nextInSeconds, isFailure: true }))) return;
    await recordAttempt(tx, { ...attemptOf(row), outcome: 'refused' });
    if (error instanceof AuthorityRefuses && error.type === 'rateLimited')
      await pauseAuthority(tx, directory, { sentence, seconds: Math.min(retryAfterSeconds, maxAuthorityPauseSeconds) });
  });
}

function failureOf(error: unknown): { kind: FailureKind; sentence: string; retryAfterSeconds: number } {
  const { message } = error as Error;
  if (error instanceof AuthorityLies) return { kind: 'refused', sentence: message, retryAfterSeconds: lieSeconds };
  if (error instanceof AuthorityRefuses) {
    const isLimited = error.type === 'rateLimited' && error.retryAfterSeconds === 0;
    return { kind: 'refused', sentence: message, retryAfterSeconds: isLimited ? rateLimitedSeconds : error.retryAfterSeconds };
  }
  return { kind: 'refused', sentence: 'something went wrong on our side; the log says what', retryAfterSeconds: 0 };
}
