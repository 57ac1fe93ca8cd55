import { escaped } from '../../../../kernel/http/html.ts';
import type { Board, Indicator } from '../../rules/board.ts';
import { richestThatFits, takeFitting } from '../../rules/fit.ts';
import { documentOf, type RenderedPage } from './document.ts';
import { maintenanceCard, shortIncident, wholeIncident } from './incident.ts';
import { type Clock, clockOf } from './labels.ts';
import { serviceTiers } from './service.ts';

// Bytes per section, 30 KB in total. Longer content is shortened here and complete in the history.
const sectionBytes = { services: 10_500, open: 5_500, past: 4_000, maintenance: 1_500 };
const pastDays = 30;

/** A page, and the character offset for the notice of its age if it is shown stale. */
export interface RenderedStatusPage extends RenderedPage {
  staleAt: number;
}

const marks: Record<Indicator, string> = {
  none: '#1a7f37',
  minor: '#8a5a00',
  major: '#c01f2b',
  critical: '#c01f2b',
  maintenance: '#0a5fc4',
};

const icons: Record<Indicator, string> = {
  none: '<path d="M5 12.5l4.5 4.5L19 7.5"/>',
  minor: '<path d="M12 6v7m0 4v.01"/>',
  major: '<path d="M12 6v7m0 4v.01"/>',
  critical: '<path d="M7 7l10 10M17 7L7 17"/>',
  maintenance: '<path d="M12 6v6l4 3"/>',
};

export function renderStatusPage(board: Board): RenderedStatusPage {
  const clock = clockOf(board.timezone);
  const banner = `<div class="now ${board.indicator}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5" stroke-width="1.8"/>${icons[board.indicator]}</svg><p>${board.headline}${board.detail ? `<small>${escaped(board.detail)}</small>` : ''}</p></div>`;
  const main = [
    banner,
    openSection(board, clock),
    maintenanceSection(board, clock),
    servicesSection(board, clock),
    pastSection(board, clock),
    subscribeSection(board),
  ];
  const made = documentOf({
    title: `${board.title}: ${board.headline}`,
    accent: board.accent,
    mark: marks[board.indicator],
    image: board.logo !== undefined && !board.logo.data,
    head: `<link rel="alternate" type="application/atom+xml" title="Updates" href="${board.links.below}feed.atom"><link rel="canonical" href="${escaped(board.url)}">`,
    header: headerOf(board),
    main: main.join(''),
    footer: footerOf(board),
  });
  return { ...made, staleAt: made.html.indexOf('<main>') + '<main>'.length };
}

export const headerOf = (board: Board, title = escaped(board.title)): string => {
  const source = board.logo && (board.logo.data ?? `${board.links.below}logo?v=${board.logo.version}`);
  // The title is beside the logo, so its alt text is empty.
  const logo = source ? `<img src="${source}" alt="">` : '';
  return `<header>${logo}<h1>${title}</h1>${board.description ? `<p class="about">${escaped(board.description)}</p>` : ''}</header>`;
};

function openSection(board: Board, clock: Clock): string {
  if (!board.open.length) return '';
  const { text, shown } = takeFitting(
    board.open,
    (i) => wholeIncident(i, clock),
    (i) => shortIncident(i, clock, board.links.below),
    sectionBytes.open,
  );
  return `<section><h2>Now</h2>${text}${moreLink(board, board.open.length - shown)}</section>`;
}

function maintenanceSection(board: Board, clock: Clock): string {
  const ahead = board.maintenance.filter((m) => m.state !== 'completed');
  if (!ahead.length) return '';
  const card = (m: (typeof ahead)[number]) => maintenanceCard(m, clock);
  const { text, shown } = takeFitting(ahead, card, card, sectionBytes.maintenance);
  const left = ahead.length - shown;
  return `<section><h2>Maintenance</h2>${text}${left ? `<p class="dim">And ${left} more later.</p>` : ''}</section>`;
}

function servicesSection(board: Board, clock: Clock): string {
  if (!board.groups.length) return '';
  const context = { clock, today: board.now.slice(0, 10) };
  const whole = (service: (s: (typeof board.groups)[number]['services'][number]) => string) => (g: (typeof board.groups)[number]) =>
    `${g.name ? `<h3 class="grp">${escaped(g.name)}</h3>` : ''}<ul class="svcs">${g.services.map(service).join('')}</ul>`;
  const text = richestThatFits(board.groups, serviceTiers(context).map(whole), sectionBytes.services);
  return `<section><h2>Services</h2>${text}</section>`;
}

function pastSection(board: Board, clock: Clock): string {
  const since = new Date(Date.parse(board.now) - pastDays * 86_400_000).toISOString();
  const recent = board.past.filter((i) => (i.resolvedAt ?? i.openedAt) > since);
  const done = board.maintenance.filter((m) => m.state === 'completed').slice(-2);
  const { text, shown } = takeFitting(
    recent,
    (i) => wholeIncident(i, clock),
    (i) => shortIncident(i, clock, board.links.below),
    sectionBytes.past,
  );
  const completed = done.map(
    (m) => `<p class="dim">Maintenance completed: ${escaped(m.title)} (${escaped(m.service)}), ${clock.day(m.endsAt)}.</p>`,
  );
  const none = `<p class="dim">No incidents in the last ${pastDays} days.</p>`;
  return `<section><h2>Past incidents</h2>${text || none}${completed.join('')}${moreLink(board, board.past.length - shown)}</section>`;
}

const moreLink = (board: Board, left: number) =>
  left > 0 ? `<p><a href="${board.links.below}history">${left === 1 ? 'One more' : `${left} more`} in the history</a></p>` : '';

const subscribeSection = (board: Board) =>
  board.subscribable
    ? `<section class="sub"><h2>Get updates by mail</h2><form method="post" action="${board.links.below}subscribe"><label>Email address<input type="email" name="address" required maxlength="254" autocomplete="email"></label><button type="submit">Subscribe</button></form><p class="dim">One mail for each update; every mail has a link to leave.</p></section>`
    : '';

const footerOf = (board: Board) =>
  `<footer><nav aria-label="Other forms of this page"><ul><li><a href="${board.links.below}history">History</a></li><li><a href="${board.links.below}feed.atom">Atom</a></li><li><a href="${board.links.below}feed.rss">RSS</a></li><li><a href="${board.links.json}">JSON</a></li></ul></nav><p>Times are those of ${escaped(board.timezone.replaceAll('_', ' '))}; days on the bars are UTC.</p></footer>`;

/** The notice above a page that could not be refreshed for `age`. */
export const staleNotice = (board: Board, age: string): string =>
  `<p class="stale" role="status"><strong>This page is ${age} old.</strong> We cannot look at the newest state at the moment; this is how it was on <time datetime="${board.now}">${clockOf(board.timezone).moment(board.now)}</time>.</p>`;
