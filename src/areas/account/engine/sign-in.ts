import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import { accountById, accountsOfAddress } from '../../../identity/store/members.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { enqueue, job } from '../../../kernel/jobs/index.ts';
import { passwordsOf, replaceHash, sharePassword } from '../store/passwords.ts';
import { hasTotp, insertPending } from '../store/pending.ts';
import { countGuess, type Guess, uncountGuess } from './guesses.ts';
import { hashQueue, makeHash, verifyHash } from './hashing.ts';
import { guessSubject, knownPerson } from './known-browsers.ts';
import { lockFormer, type Person, record, type SessionHost, startSession, type Visitor } from './sessions.ts';

// Signing in by password: count the guess → hash → session, or the question for a code. A kill between the steps leaves a counted guess, or a
// pending sign-in whose cookie is lost; both end by themselves, and neither is a session.

/** What a right first factor leads to: a session, or the question for a code. Keys are for cookies. */
export type FirstFactorPassed = { session: { id: string; key: string } } | { pending: { key: string } };

export const pendingSeconds = 600;

/**
 * After a right password. With an authenticator app a code is asked for next; nothing is signed in until then. One transaction: after a
 * crash there is neither a session nor a question, and the person begins anew. The transaction must begin with `lockFormer`.
 */
export async function passPassword(tx: Tx, app: SessionHost, person: Person, visitor: Visitor): Promise<FirstFactorPassed> {
  if (!(await hasTotp(tx, person.id))) return { session: await startSession(tx, app, person, ['password'], visitor) };
  const { key, hash } = mintKey('once');
  await insertPending(tx, { userId: person.id, hash, methods: ['password'], seconds: pendingSeconds });
  return { pending: { key } };
}

/** An account with a password, which the visitor may mean. */
interface Candidate extends Person {
  phc: string;
}

/** An address may have several accounts; as many passwords are compared. */
const maxCandidates = 3;

/**
 * Signs in by address and password. An address without an account, or without a password, costs the same work and gets the same refusal.
 * `knownId`: the person of this address who has signed in with this browser before.
 */
export async function signInByPassword(
  app: App,
  { email, password }: { email: string; password: string },
  visitor: Visitor,
  knownId: string | undefined,
): Promise<FirstFactorPassed> {
  const typed = typedAddress(email);
  const { guess, found } = await hashQueue.run({ address: visitor.address, personId: knownId }, () =>
    guessPassword(app, typed, password, visitor),
  );
  return app.db.write(async (tx) => {
    await lockFormer(tx, visitor);
    if (!(await sharePassword(tx, found.person.id, found.person.phc))) throw wrongPassword(); // it was changed meanwhile
    await uncountGuess(tx, guess);
    const passed = await passPassword(tx, app, found.person, visitor);
    if (found.rehashed !== undefined) await replaceHash(tx, found.person.id, found.person.phc, found.rehashed);
    return passed;
  });
}

/** The guess is counted when its turn comes, so a flood of sign-ins also uses few connections to the database. */
async function guessPassword(app: App, email: string, password: string, visitor: Visitor) {
  const { guess, candidates } = await app.db.write((tx) => beginGuess(tx, email, visitor));
  const found = await compare(candidates, password);
  if (found) return { guess, found };
  if (guess.isLast) await app.db.write((tx) => queueRecord(tx, candidates, visitor));
  throw wrongPassword();
}

/** As PostgreSQL takes it; the same address in capital letters has the same count. */
export const typedAddress = (email: string): string => email.replaceAll('\0', '').trim().toLowerCase().slice(0, maxAddressLength);
const maxAddressLength = 320;

async function beginGuess(tx: Tx, email: string, visitor: Visitor): Promise<{ guess: Guess; candidates: Candidate[] }> {
  const knownId = await knownPerson(tx, visitor.knownKey);
  const accounts = await accountsOfAddress(tx, email, knownId);
  const isKnown = accounts.some(({ id }) => id === knownId);
  const guess = await countGuess(tx, guessSubject(isKnown, visitor.knownKey, { kind: 'account', email }), visitor.address);
  // An address may have accounts of strangers. The guesses of a browser that one of them knows are at that account alone.
  const meant = isKnown ? accounts.filter(({ id }) => id === knownId) : accounts;
  const ids = meant.map(({ id }) => id);
  const passwords = await passwordsOf(tx, ids);
  const candidates = meant.flatMap(({ id, email: address }) => {
    const found = passwords.find(({ user_id }) => user_id === id);
    return found ? [{ id, email: address, phc: found.phc }] : [];
  });
  return { guess, candidates: candidates.slice(0, maxCandidates) };
}

async function compare(candidates: readonly Candidate[], password: string) {
  if (!candidates.length) await verifyHash(password, undefined);
  for (const person of candidates) {
    const { isRight, rehash } = await verifyHash(password, person.phc);
    if (isRight) return { person, rehashed: rehash ? await makeHash(password) : undefined };
  }
  return undefined;
}

/** Failures are on record in bulk: once when there were so many that further ones are refused. */
export const recordGuessing = (tx: Tx, person: Person, visitor: Pick<Visitor, 'address' | 'requestId'>): Promise<void> =>
  record(tx, person, visitor, 'account.guesses.refuse', person.id, { address: visitor.address });

/** The same work for an address without an account: a job looks for the organizations of the people, and finds none. */
const queueRecord = (tx: Tx, persons: readonly Person[], { address, requestId }: Visitor) =>
  enqueue(tx, recordGuesses, { key: randomUUID(), requestId, payload: { userIds: persons.map(({ id }) => id), address } });

/** Ends in the transaction of its rows, so they are written once. */
export const recordGuesses = job(
  'account.record-guesses',
  { payload: Type.Object({ userIds: Type.Array(Type.String()), address: Type.String() }) },
  ({ payload: { userIds, address }, requestId = '', finishWith }) =>
    finishWith(async (tx) => {
      for (const id of userIds) {
        const person = await accountById(tx, id);
        if (person) await recordGuessing(tx, person, { address, requestId });
      }
    }),
);

const wrongPassword = () => new Refusal(401, 'unauthenticated', 'the address or the password is wrong; mind capital letters and spaces');
