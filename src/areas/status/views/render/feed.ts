import { escaped } from '../../../../kernel/http/html.ts';
import { type Board, type BoardIncident, isResolutionUntold } from '../../rules/board.ts';
import { type Clock, clockOf, incidentLabels } from './labels.ts';
import { linked } from './linked.ts';
import { xml } from './xml.ts';

// One entry per incident. Its time moves with each update, and it disappears with the last retraction.

const entriesOf = (board: Board) => [...board.open, ...board.past].sort((a, b) => (a.updates[0]!.at < b.updates[0]!.at ? 1 : -1));

const linkOf = (board: Board, i: BoardIncident) => `${board.url}/history#${i.id}`;

/** RFC 4151: an id that stays when the page moves to another host. */
const tagOf = (board: Board, i?: BoardIncident) =>
  `tag:quarterdeck.invalid,${board.createdAt.slice(0, 10)}:status/${board.id}${i ? `/${i.id}` : ''}`;

/** The updates as HTML, which feed readers show. */
const contentOf = (i: BoardIncident, clock: Clock) =>
  `<p>${escaped(i.service)}</p>${isResolutionUntold(i) ? `<p><strong>${incidentLabels.resolved}</strong>, ${clock.moment(i.resolvedAt!)}</p>` : ''}${i.updates
    .map((u) => `<p><strong>${incidentLabels[u.state]}</strong>, ${clock.moment(u.at)}<br>${linked(u.body).replaceAll('\n', '<br>')}</p>`)
    .join('')}${i.updates.length < i.updateCount ? `<p>${i.updateCount - i.updates.length} earlier updates are in the history.</p>` : ''}`;

const titleOf = (i: BoardIncident) => `${incidentLabels[i.state]}: ${i.title}`;

export function renderAtom(board: Board): string {
  const clock = clockOf(board.timezone);
  const entries = entriesOf(board).map(
    (i) =>
      `<entry><id>${tagOf(board, i)}</id><title>${xml(titleOf(i))}</title><link rel="alternate" type="text/html" href="${xml(linkOf(board, i))}"/><published>${i.openedAt}</published><updated>${lastChange(i)}</updated><category term="${i.state}"/><content type="html">${xml(contentOf(i, clock))}</content></entry>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><id>${tagOf(board)}</id><title>${xml(board.title)}</title>${board.description ? `<subtitle>${xml(board.description)}</subtitle>` : ''}<link rel="self" type="application/atom+xml" href="${xml(board.url)}/feed.atom"/><link rel="alternate" type="text/html" href="${xml(board.url)}"/><updated>${board.changedAt}</updated><author><name>${xml(board.title)}</name></author>${entries.join('')}</feed>\n`;
}

export function renderRss(board: Board): string {
  const clock = clockOf(board.timezone);
  const items = entriesOf(board).map(
    (i) =>
      `<item><title>${xml(titleOf(i))}</title><link>${xml(linkOf(board, i))}</link><guid isPermaLink="false">${tagOf(board, i)}</guid><pubDate>${new Date(lastChange(i)).toUTCString()}</pubDate><category>${xml(i.service)}</category><description>${xml(contentOf(i, clock))}</description></item>`,
  );
  return `<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>${xml(board.title)}</title><link>${xml(board.url)}</link><atom:link rel="self" type="application/rss+xml" href="${xml(board.url)}/feed.rss"/><description>${xml(board.description ?? `Incidents of ${board.title}`)}</description><language>en</language><lastBuildDate>${new Date(board.changedAt).toUTCString()}</lastBuildDate><ttl>5</ttl>${items.join('')}</channel></rss>\n`;
}

const lastChange = (i: BoardIncident) => [i.updates[0]!.at, i.resolvedAt ?? ''].sort().at(-1)!;
