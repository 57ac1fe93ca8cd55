import { availability, shownOf } from '../../rules/availability.ts';
import type { Board } from '../../rules/board.ts';

/** The page as JSON in our own format. */
export function renderJson(board: Board): string {
  const { slug, title, description, url, timezone } = board;
  return JSON.stringify({
    page: { slug, title, ...(description ? { description } : {}), url, timezone },
    status: { indicator: board.indicator, description: board.headline },
    services: board.groups.flatMap((g) =>
      g.services.map(({ id, name, state, observed }) => ({
        id,
        name,
        ...(g.name ? { group: g.name } : {}),
        state,
        ...(observed
          ? {
              availability90d: availability(shownOf(observed.days, board.now.slice(0, 10))) ?? null,
              days: observed.days,
              months: observed.months,
            }
          : {}),
      })),
    ),
    incidents: [...board.open, ...board.past],
    maintenance: board.maintenance,
    changedAt: board.changedAt,
  });
}
