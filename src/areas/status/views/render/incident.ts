import { escaped } from '../../../../kernel/http/html.ts';
import { type BoardIncident, type BoardMaintenance, type BoardUpdate, isResolutionUntold } from '../../rules/board.ts';
import { type Clock, durationBetween, incidentLabels, maintenanceLabels } from './labels.ts';
import { linked } from './linked.ts';
import { trimEndWhile } from './trim-end.ts';

const time = (at: string, clock: Clock) => `<time datetime="${at}">${clock.moment(at)}</time>`;

const update = (u: BoardUpdate, clock: Clock) => `<li><b>${incidentLabels[u.state]}</b>${time(u.at, clock)}<p>${linked(u.body)}</p></li>`;

/** The end of an incident, if no update since has mentioned it. */
const ended = (i: BoardIncident, clock: Clock) =>
  isResolutionUntold(i) ? `<li><b>${incidentLabels.resolved}</b>${time(i.resolvedAt!, clock)}</li>` : '';

const isOver = (i: BoardIncident) => i.resolvedAt !== undefined;

const facts = (i: BoardIncident, clock: Clock) =>
  `<p class="dim">${escaped(i.service)} · ${
    i.resolvedAt
      ? `${time(i.openedAt, clock)} · lasted ${durationBetween(i.openedAt, i.resolvedAt)}`
      : `${incidentLabels[i.state]} · since ${time(i.openedAt, clock)}`
  }</p>`;

/** An incident with all loaded updates. `more`: markup that links to the others. */
export const wholeIncident = (i: BoardIncident, clock: Clock, more = ''): string =>
  `<article class="${isOver(i) ? 'past' : 'card open'}" id="${i.id}"><h3>${escaped(i.title)}</h3>${facts(i, clock)}<ol class="log">${ended(i, clock)}${i.updates.map((u) => update(u, clock)).join('')}</ol>${more}</article>`;

const shortBody = 400;

const isSpace = (character: string) => character.trim() === '';
const withoutHalfWord = (text: string) =>
  trimEndWhile(
    trimEndWhile(text, (c) => !isSpace(c)),
    isSpace,
  ) || text;

/** The newest update, truncated if long, with a link to the rest. */
export function shortIncident(i: BoardIncident, clock: Clock, below: string): string {
  const [newest] = i.updates;
  const body = newest!.body.length > shortBody ? `${withoutHalfWord(newest!.body.slice(0, shortBody).toWellFormed())} …` : newest!.body;
  const more = i.updateCount > 1 ? `All ${i.updateCount} updates` : 'The whole update';
  return `<article class="${isOver(i) ? 'past' : 'card open'}" id="${i.id}"><h3>${escaped(i.title)}</h3>${facts(i, clock)}<ol class="log">${ended(i, clock)}${update({ ...newest!, body }, clock)}</ol><p><a href="${below}history#${i.id}">${more}<span class="hid"> on ${escaped(i.title)}</span></a></p></article>`;
}

export const maintenanceCard = (m: BoardMaintenance, clock: Clock): string =>
  `<article class="card plan" id="${m.id}"><h3>${escaped(m.title)}</h3><p class="dim">${escaped(m.service)} · ${maintenanceLabels[m.state]} · <time datetime="${m.startsAt}">${clock.span(m.startsAt, m.endsAt)}</time></p></article>`;
