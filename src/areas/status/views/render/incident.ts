import { escaped } from '../../../../kernel/http/html.ts';
import type { BoardIncident, BoardMaintenance, BoardUpdate } from '../../rules/board.ts';
import { between, type Clock, incidentWords, maintenanceWords } from './words.ts';

const time = (at: string, clock: Clock) => `<time datetime="${at}">${clock.moment(at)}</time>`;

const update = (u: BoardUpdate, clock: Clock) => `<li><b>${incidentWords[u.state]}</b>${time(u.at, clock)}<p>${escaped(u.body)}</p></li>`;

const isOver = (i: BoardIncident) => i.resolvedAt !== undefined;

const facts = (i: BoardIncident, clock: Clock) =>
  `<p class="dim">${escaped(i.service)} · ${
    i.resolvedAt
      ? `${time(i.openedAt, clock)} · lasted ${between(i.openedAt, i.resolvedAt)}`
      : `${incidentWords[i.state]} · since ${time(i.openedAt, clock)}`
  }</p>`;

/** An incident with every word that was published about it. */
export const wholeIncident = (i: BoardIncident, clock: Clock): string =>
  `<article class="${isOver(i) ? 'past' : 'card open'}" id="${i.id}"><h3>${escaped(i.title)}</h3>${facts(i, clock)}<ol class="log">${i.updates.map((u) => update(u, clock)).join('')}</ol></article>`;

const shortBody = 400;

/** Its newest word, cut when it is long, and where to read on. */
export function shortIncident(i: BoardIncident, clock: Clock, slug: string): string {
  const [newest] = i.updates;
  const body =
    newest!.body.length > shortBody
      ? `${newest!.body
          .slice(0, shortBody)
          .toWellFormed()
          .replace(/\s+\S*$/, '')} …`
      : newest!.body;
  const more = i.updates.length > 1 ? `All ${i.updates.length} updates` : 'The whole update';
  return `<article class="${isOver(i) ? 'past' : 'card open'}" id="${i.id}"><h3>${escaped(i.title)}</h3>${facts(i, clock)}<ol class="log">${update({ ...newest!, body }, clock)}</ol><p><a href="${slug}/history#${i.id}">${more}<span class="hid"> on ${escaped(i.title)}</span></a></p></article>`;
}

export const maintenanceCard = (m: BoardMaintenance, clock: Clock): string =>
  `<article class="card plan" id="${m.id}"><h3>${escaped(m.title)}</h3><p class="dim">${escaped(m.service)} · ${maintenanceWords[m.state]} · <time datetime="${m.startsAt}">${clock.span(m.startsAt, m.endsAt)}</time></p></article>`;
