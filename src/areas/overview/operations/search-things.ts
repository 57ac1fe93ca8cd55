import { overview } from '../../../../contract/overview.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { askParts } from '../../ask-parts.ts';
import { bestMatches } from '../engine/best-matches.ts';
import type { OpenOverview } from '../open.ts';

const defaultLimit = 20;

export const searchThings = operation(
  overview.searchThings,
  async ({ ctx, query: { q, limit = defaultLimit } }, { ports }: OpenOverview) => {
    const { parts, unavailable } = await askParts(ctx, ports.search, { text: q, limit: limit + 1 });
    return ok({
      ...bestMatches(
        parts.map(({ answer }) => answer),
        limit,
      ),
      unavailable,
    });
  },
);
