/**
 * Answers that every area has a part in. This area has no tables and knows no other: the parts come as ports (`Host.ports`), which the areas
 * fill for what the caller may read (src/areas/ports.ts).
 *
 * Flow. Each part is read on a connection of its own, all at once, within a deadline (src/areas/ask-parts.ts). A part that fails or is late is
 * named in the answer, with its reason, and the others are shown: one slow table never hides that something is down. While nothing can be
 * read at all, the request is refused as any other is.
 */
import { defineArea } from '../area.ts';
import { type OpenOverview, openOverview } from './open.ts';
import { getOverview } from './operations/get-overview.ts';
import { searchThings } from './operations/search-things.ts';

export const overview = defineArea<OpenOverview>({
  name: 'overview',
  operations: [getOverview, searchThings],
  open: openOverview,
});
