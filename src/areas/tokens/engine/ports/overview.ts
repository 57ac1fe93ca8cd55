import { endingDays, maxListed, type OverviewSource } from '../../../ports.ts';
import { tokensEnding } from '../../store/ports/overview.ts';

/** A narrowed token shows itself and what was minted with it, as the list of tokens does. */
export const tokensOverview: OverviewSource = {
  async read(tx, { org, user, principal }) {
    const above = principal.scopes.length ? principal.id : undefined;
    const found = await tokensEnding(tx, org, user.id, above, endingDays, maxListed);
    const items = found.map(({ id, name, ends_at }) => ({ kind: 'token' as const, id, name, endsAt: ends_at, parents: [] }));
    return { ends: { items, total: found[0]?.total ?? 0 } };
  },
};
