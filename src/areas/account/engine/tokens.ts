import { topics } from '../../../identity/principal.ts';
import { lockRights } from '../../../identity/rights-lock.ts';
import { type OwnOrg, organizationsOf } from '../../../identity/store/members.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { lockToken, revokeToken, tokensOf } from '../../tokens/index.ts';

import { requireLive } from './sessions.ts';

const tokensPerPage = 200;

/** The tokens of a person, by organization; the newest of each. */
export async function listOwnTokens(tx: Tx, person: Pick<SignedIn, 'id'>) {
  const found = [];
  for (const org of await organizationsOf(tx, person.id))
    found.push({ org, tokens: (await newestTokens(tx, org.id, person.id)).slice(0, tokensPerPage) });
  return found;
}

const newestTokens = (tx: Tx, org: string, userId: string) => tokensOf(tx, org, userId, undefined, { limit: tokensPerPage, after: null });

/** Revokes a token of the person, with all that it minted. Effective in every process with the commit. */
export const revokeOwnToken = (app: Pick<App, 'db' | 'caches'>, person: SignedIn, slug: string, id: string, requestId: string) =>
  app.db.write(async (tx) => {
    const org = (await organizationsOf(tx, person.id)).find((each) => each.slug === slug) ?? notFound('token');
    const [ended] = await revokeSome(tx, app, person, org, [id], requestId);
    if (ended === undefined) notFound('token');
  });

/** Revokes every token of the person, in transactions of a few: a crash between them leaves the rest, and the page shows it. */
export async function revokeOwnTokens(app: Pick<App, 'db' | 'caches'>, person: SignedIn, requestId: string): Promise<void> {
  const orgs = await app.db.read((tx) => organizationsOf(tx, person.id));
  for (const org of orgs)
    for (;;) {
      const ids = (await app.db.read((tx) => newestTokens(tx, org.id, person.id))).map(({ id }) => id).slice(0, tokensPerPage);
      const ended = ids.length ? await app.db.write((tx) => revokeSome(tx, app, person, org, ids, requestId)) : [];
      if (!ended.length) break;
    }
}

/** The locks of the tokens come first: a request under way with one commits before, or is refused. */
async function revokeSome(tx: Tx, app: Pick<App, 'caches'>, person: SignedIn, org: OwnOrg, ids: readonly string[], requestId: string) {
  await lockRights(tx, org.id, { revokes: ids.map(topics.credential) });
  await requireLive(tx, person.session_id);
  const by = { org: org.id, user: person, principal: { id: person.session_id }, requestId, app };
  const ended = [];
  for (const id of ids) {
    const token = await lockToken(tx, org.id, person.id, id);
    if (!token) continue; // it ended with the one that minted it
    await revokeToken(tx, by, token);
    ended.push(id);
  }
  return ended;
}
