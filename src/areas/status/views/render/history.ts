import { escaped } from '../../../../kernel/http/html.ts';
import type { Board } from '../../rules/board.ts';
import { documentOf } from './document.ts';
import { wholeIncident } from './incident.ts';
import type { MadeStatusPage } from './status-page.ts';
import { clockOf } from './words.ts';

/** Every public incident that we still tell of, with every word. */
export function renderHistory(board: Board): MadeStatusPage {
  const clock = clockOf(board.timezone);
  const all = [...board.open, ...board.past];
  const days = Map.groupBy(all, (i) => clock.day(i.openedAt));
  const sections = [...days].map(
    ([day, incidents]) => `<section><h2>${day}</h2>${incidents.map((i) => wholeIncident(i, clock)).join('')}</section>`,
  );
  const made = documentOf({
    title: `History of ${board.title}`,
    accent: board.accent,
    header: `<header><h1>History of ${escaped(board.title)}</h1></header>`,
    main: `<p><a href="../${board.slug}">What is happening now</a></p>${sections.join('') || '<p>No incidents to tell of.</p>'}`,
    footer: `<footer><p>Times are those of ${escaped(board.timezone.replaceAll('_', ' '))}.</p></footer>`,
  });
  return { ...made, staleAt: made.html.indexOf('<main>') + '<main>'.length };
}
