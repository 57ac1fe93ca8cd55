import { accountById } from '../../../identity/store/members.ts';
import { hashKey, kindOf, mintKey } from '../../../identity/token-format.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { noteClaim, unclaimedOwner } from '../store/claims.ts';
import { deleteLinksOf, insertLink, type LinkPurpose, type LinkRow, linkByHash, takeLink } from '../store/links.ts';
import { lockFormer, type SessionHost, startSession, type Visitor } from './sessions.ts';

const lifetimeSeconds: Record<LinkPurpose, number> = { claim: 86_400, operator: 900, reset: 3_600, address: 86_400 };

/** Those that sign their person in by themselves. */
const signingIn: readonly LinkPurpose[] = ['claim', 'operator'];

/** Makes a link that works once, for one person. An earlier one of the same purpose ends. */
export async function makeLink(tx: Tx, userId: string, purpose: LinkPurpose, detail = ''): Promise<{ secret: string; expiresAt: string }> {
  await deleteLinksOf(tx, userId, purpose);
  const { key, hash } = mintKey('once');
  const { expires_at } = (await insertLink(tx, { userId, hash, purpose, detail, seconds: lifetimeSeconds[purpose] }))!;
  return { secret: key, expiresAt: expires_at };
}

const hashOf = (secret: string) => (kindOf(secret) === 'once' ? hashKey(secret) : unknownLink());

const unknownLink = () => notFound('link: it was used, it is over, or a newer one took its place; ask for another');

/** Whom a link is for. Changes nothing: programs that scan mail follow links. */
export const lookAtLink = async (tx: Tx, secret: string, purposes: readonly LinkPurpose[] = signingIn) =>
  withPerson(tx, await linkByHash(tx, hashOf(secret), purposes));

/** Uses a link up, for good once the transaction commits. */
export const useLink = async (tx: Tx, secret: string, purposes: readonly LinkPurpose[] = signingIn) =>
  withPerson(tx, await takeLink(tx, hashOf(secret), purposes));

/** A claim link stands in the scrollback of a terminal, so it ends when the owner has come in by any way. */
async function withPerson(tx: Tx, link: LinkRow | undefined) {
  if (!link || (link.purpose === 'claim' && (await unclaimedOwner(tx))?.id !== link.user_id)) return unknownLink();
  return { link, person: (await accountById(tx, link.user_id)) ?? unknownLink() };
}

/** Uses a link up and signs its person in, in one transaction: after a crash the link is unused, or the session there. */
export async function signInByLink(tx: Tx, app: SessionHost, secret: string, visitor: Visitor) {
  await lockFormer(tx, visitor);
  const { person } = await useLink(tx, secret);
  await noteClaim(tx, person.id);
  return { person, ...(await startSession(tx, app, person, ['link'], visitor)) };
}
