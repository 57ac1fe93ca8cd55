// The text of a page by mail. Labels and links come from the sender, so each is one line of bounded length, and a link must open in a
// browser.

export interface AlertInPage {
  title: string;
  labels: Record<string, string>;
  moreLabels: number;
  runbook: string | undefined;
  /** The sender's page about the alert. */
  source: string | undefined;
}

export interface PageContent {
  incident: { id: string; title: string; serviceName: string; description?: string };
  /** The first few that fire. */
  alerts: readonly AlertInPage[];
  /** Further firing alerts. */
  moreAlerts: number;
  ackUrl: string;
  /** Text beyond the incident: news, and held-back pages. */
  further: readonly string[];
  /** Whether the reader has acknowledged it already. */
  isAcknowledged: boolean;
  /** The reader asked for it, and there is no incident. */
  isTest?: true;
}

/** Limits of one page; the incident shows the rest. */
export const pageLimits = { alerts: 3, labels: 20, characters: 2_048 };
const maxLabelLength = 200;
const maxDescriptionLength = 4_000;

// Line breaks, other control characters, and characters that change the text direction.
const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
const cut = (text: string, maxLength: number) => (text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`.toWellFormed());

/** One line of at most `maxLength` characters. */
export const asLine = (text: string, maxLength: number): string => cut(text.replaceAll(controlCharacters, ' ').trim(), maxLength);

/** A link that opens in a browser and shows its target; undefined for anything else, and for a truncated one. */
export function asLink(given: string | null): string | undefined {
  if (!given || given.length >= pageLimits.characters || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  const isPlain = (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password;
  return isPlain && url.href.length < pageLimits.characters ? url.href : undefined;
}

export const pageSubject = ({ incident }: Pick<PageContent, 'incident'>): string =>
  asLine(`[${asLine(incident.serviceName, 100)}] ${incident.title}`, 250);

export function pageText({ incident, alerts, moreAlerts, ackUrl, further, isAcknowledged, isTest }: PageContent): string {
  const { id, title, serviceName, description } = incident;
  return [
    asLine(`${serviceName}: ${title}`, 400),
    ...further.flatMap((words) => ['', cut(words, maxDescriptionLength)]),
    ...(description ? ['', cut(description, maxDescriptionLength)] : []),
    '',
    isTest
      ? 'Open this page to confirm that it reached you:'
      : isAcknowledged
        ? 'You acknowledged this incident. It is here:'
        : 'You are paged. Acknowledge, and nobody else is:',
    ackUrl,
    ...alerts.flatMap((alert) => ['', ...alertLines(alert, alerts.length + moreAlerts > 1)]),
    ...(moreAlerts ? ['', `${moreAlerts} more ${moreAlerts === 1 ? 'alert fires' : 'alerts fire'}.`] : []),
    '',
    isTest ? `Test page ${id}` : `Incident ${id}`,
  ].join('\n');
}

function alertLines({ title, labels, moreLabels, runbook, source }: AlertInPage, isOneOfSeveral: boolean): string[] {
  return [
    ...(isOneOfSeveral ? [asLine(title, maxLabelLength)] : []),
    ...(runbook ? [`Runbook: ${runbook}`] : []),
    ...(source ? [`Source: ${source}`] : []),
    ...Object.entries(labels)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `  ${asLine(name, 100)} = ${asLine(value, maxLabelLength)}`),
    ...(moreLabels ? [`  and ${moreLabels} more ${moreLabels === 1 ? 'label' : 'labels'}`] : []),
  ];
}
