import { escaped } from '../../../../kernel/http/html.ts';
import { availability, badDays, runsOf, shownOf } from '../../rules/availability.ts';
import type { BoardService } from '../../rules/board.ts';
import { type Clock, formatDuration, serviceLabels } from './labels.ts';

interface RenderContext {
  clock: Clock;
  /** In UTC, as the days are. */
  today: string;
}

const letters = { up: 'u', some: 's', down: 'd', none: 'n' } as const;
const maxBadDays = 8;
const maxMonths = 6;
const colour = { operational: 'operational', incident: 'incident', down: 'down', maintenance: 'planned' } as const;

const head = (s: BoardService) =>
  `<div class="row"><b>${escaped(s.name)}</b><span class="st ${colour[s.state]}">${serviceLabels[s.state]}</span></div>`;

/** Ninety days as a small SVG: runs of equal days, and a mask that cuts them into bars. */
function bar(s: BoardService, { today }: RenderContext): string {
  if (!s.observed) return '';
  const paths = new Map<string, string>();
  for (const { look, from, days } of runsOf(s.observed.days, today))
    paths.set(letters[look], `${paths.get(letters[look]) ?? ''}M${from} 0h${days}v1h-${days}z`);
  const percent = percentOf(s, today);
  const bad = badDays(s.observed.days, today).length;
  const said =
    percent === undefined ? 'not watched yet' : `${percent} % available${bad ? `, downtime on ${bad} ${bad > 1 ? 'days' : 'day'}` : ''}`;
  return `<svg class="bar" viewBox="0 0 90 1" preserveAspectRatio="none" role="img" aria-label="Last 90 days: ${said}">${[...paths].map(([c, d]) => `<path class="${c}" d="${d}"/>`).join('')}</svg><p class="scale"><span>90 days ago</span><span>${percent === undefined ? 'Not watched yet' : `${percent} %`}</span><span>Today</span></p>`;
}

const percentOf = (s: BoardService, today: string) => availability(shownOf(s.observed!.days, today));

function months(s: BoardService, { clock, today }: RenderContext): string {
  if (!s.observed?.months.length) return '';
  const rows = s.observed.months
    .slice(-maxMonths)
    .toReversed()
    .map((m) => `<tr><th scope="row">${clock.month(m.month)}</th><td>${percentText(availability([m]))}</td></tr>`);
  const bad = badDays(s.observed.days, today);
  const days = bad.slice(0, maxBadDays).map((d) => `${clock.date(d.date)} (${formatDuration(d.downSeconds)})`);
  const more = bad.length > maxBadDays ? ` and ${bad.length - maxBadDays} more days` : '';
  return `<details><summary>By month<span class="hid"> for ${escaped(s.name)}</span></summary><table><caption>Availability</caption><tbody>${rows.join('')}</tbody></table>${days.length ? `<p>Downtime: ${days.join(', ')}${more}.</p>` : ''}</details>`;
}

const percentText = (percent: number | undefined) => (percent === undefined ? '–' : `${percent} %`);

/** Renderings from rich to plain, so that a page with 100 services stays small. */
export const serviceTiers = (context: RenderContext): ((s: BoardService) => string)[] => [
  (s) => `<li>${head(s)}${bar(s, context)}${months(s, context)}</li>`,
  (s) => `<li>${head(s)}${bar(s, context)}</li>`,
  (s) => `<li>${head(s)}</li>`,
];
