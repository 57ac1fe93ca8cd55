import { escaped } from '../../../kernel/http/html.ts';
import { type AlertInPage, asLine, type PageContent } from '../rules/page-mail.ts';
import type { IncidentRow } from '../store/incidents.ts';

type FiringAlerts = Pick<PageContent, 'alerts' | 'moreAlerts'>;

/** The acknowledge page as markup: the button first, then the details. */
export function ackView(incident: IncidentRow, paged: string, { alerts, moreAlerts }: FiringAlerts): string {
  const { status, acknowledged_by, resolved_by, opened_at, description } = incident;
  const settledBy = escaped((resolved_by ?? acknowledged_by)?.label ?? 'somebody');
  return [
    status === 'open'
      ? '<form method="post"><button>Acknowledge</button></form>'
      : `<p>${status === 'resolved' ? 'Resolved' : 'Acknowledged'} by ${settledBy}.</p>`,
    `<p class="faint">Paged: ${escaped(paged)}. Opened <time datetime="${opened_at}">${opened_at.slice(0, 16).replace('T', ' ')} UTC</time>.</p>`,
    description ? `<p class="words">${escaped(description)}</p>` : '',
    ...alerts.map(alertView),
    moreAlerts ? `<p>${moreAlerts} more ${moreAlerts === 1 ? 'alert fires' : 'alerts fire'}.</p>` : '',
  ].join('');
}

/** The same of a page that its person asked for. */
export const testView = (paged: string): string =>
  `<form method="post"><button>It reached me</button></form><p class="faint">Paged: ${escaped(paged)}. This is a test that you asked for. Nothing is wrong.</p>`;

function alertView({ title, labels, moreLabels, runbook, source }: AlertInPage): string {
  const link = (address: string | undefined, word: string) =>
    address ? [`<a href="${escaped(address)}" rel="noreferrer">${word}</a>`] : [];
  const links = [...link(runbook, 'Runbook'), ...link(source, 'Source')].join(' · ');
  const lines = Object.entries(labels).map(([name, value]) => `<li>${escaped(`${asLine(name, 100)} = ${asLine(value, 200)}`)}</li>`);
  return `<h2>${escaped(asLine(title, 200))}</h2>${links ? `<p>${links}</p>` : ''}<ul>${lines.join('')}${moreLabels ? `<li>and ${moreLabels} more</li>` : ''}</ul>`;
}
