import { escaped } from '../../../../kernel/http/html.ts';
import type { Board, BoardIncident } from '../../rules/board.ts';
import { cursorAt } from '../../rules/history-cursor.ts';
import { documentOf } from './document.ts';
import { wholeIncident } from './incident.ts';
import { type Clock, clockOf } from './labels.ts';
import type { RenderedStatusPage } from './status-page.ts';

/** The newest public incidents, their updates within the limits, and the link to older ones. */
export function renderHistory(board: Board): RenderedStatusPage {
  const clock = clockOf(board.timezone);
  const incident = (i: BoardIncident) =>
    wholeIncident(
      i,
      clock,
      i.updates.length < i.updateCount || i.updates[0]!.body.endsWith(' …')
        ? `<p><a href="history/${cursorAt(i.openedAt)}">${i.updateCount > 1 ? `All ${i.updateCount} updates` : 'The whole update'}<span class="hid"> on ${escaped(i.title)}</span></a></p>`
        : '',
    );
  const older = board.older ? `<p><a href="history/${board.older}">Older incidents</a></p>` : '';
  return pageOf(board, board.links.up, `${daysOf([...board.open, ...board.past], clock, incident)}${older}`);
}

/** One history page. `next`: the cursor of the next one. */
export function renderOlder(board: Board, incidents: readonly BoardIncident[], next: string | undefined): RenderedStatusPage {
  const clock = clockOf(board.timezone);
  const links = `<p><a href="../history">The newest incidents</a>${next ? ` · <a href="${next}">Older incidents</a>` : ''}</p>`;
  return pageOf(board, board.links.twiceUp, `${daysOf(incidents, clock, (i) => wholeIncident(i, clock))}${links}`);
}

function daysOf(incidents: readonly BoardIncident[], clock: Clock, render: (i: BoardIncident) => string): string {
  const days = Map.groupBy(incidents, (i) => clock.day(i.openedAt));
  const sections = [...days].map(([day, its]) => `<section><h2>${day}</h2>${its.map(render).join('')}</section>`);
  return sections.join('') || '<p>No incidents to tell of.</p>';
}

function pageOf(board: Board, up: string, main: string): RenderedStatusPage {
  const made = documentOf({
    title: `History of ${board.title}`,
    accent: board.accent,
    header: `<header><h1>History of ${escaped(board.title)}</h1></header>`,
    main: `<p><a href="${up}">What is happening now</a></p>${main}`,
    footer: `<footer><p>Times are those of ${escaped(board.timezone.replaceAll('_', ' '))}.</p></footer>`,
  });
  return { ...made, staleAt: made.html.indexOf('<main>') + '<main>'.length };
}
