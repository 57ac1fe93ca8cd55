// What a page says by mail. Labels and links are whatever a sender wrote: each is one line of bounded length, and a link is one that opens
// in a browser.

export interface AlertInPage {
  title: string;
  labels: Record<string, string>;
  moreLabels: number;
  runbook: string | undefined;
  /** Where the sender shows it. */
  source: string | undefined;
}

export interface PageContent {
  incident: { id: string; title: string; serviceName: string; description?: string };
  /** The first few that fire. */
  alerts: readonly AlertInPage[];
  /** How many more fire. */
  moreAlerts: number;
  ackUrl: string;
  /** What it tells beyond the incident itself: what is new, and what was held back. */
  further: readonly string[];
  /** Whether the reader has acknowledged it already. */
  isAcknowledged: boolean;
}

/** A page tells of so much; the incident has the rest. */
export const pageLimits = { alerts: 3, labels: 20, characters: 2_048 };
const maxLabelLength = 200;
const maxDescriptionLength = 4_000;

// Line breaks of every kind and other control characters, and what turns the direction of the text that follows.
const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
const cut = (text: string, maxLength: number) => (text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`.toWellFormed());

/** As one line, of at most so many characters. */
export const asLine = (text: string, maxLength: number): string => cut(text.replaceAll(controlCharacters, ' ').trim(), maxLength);

/** An address that opens in a browser and says where it leads; undefined for anything else, and for one that was cut. */
export function asLink(given: string | null): string | undefined {
  if (!given || given.length >= pageLimits.characters || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  const isPlain = (url.protocol === 'http:' || url.protocol === 'https:') && !url.username && !url.password;
  return isPlain && url.href.length < pageLimits.characters ? url.href : undefined;
}

export const pageSubject = ({ incident }: Pick<PageContent, 'incident'>): string =>
  asLine(`[${asLine(incident.serviceName, 100)}] ${incident.title}`, 250);

export function pageText({ incident, alerts, moreAlerts, ackUrl, further, isAcknowledged }: PageContent): string {
  const { id, title, serviceName, description } = incident;
  return [
    asLine(`${serviceName}: ${title}`, 400),
    ...further.flatMap((words) => ['', cut(words, maxDescriptionLength)]),
    ...(description ? ['', cut(description, maxDescriptionLength)] : []),
    '',
    isAcknowledged ? 'You acknowledged this incident. It is here:' : 'You are paged. Acknowledge, and nobody else is:',
    ackUrl,
    ...alerts.flatMap((alert) => ['', ...alertLines(alert, alerts.length + moreAlerts > 1)]),
    ...(moreAlerts ? ['', `${moreAlerts} more ${moreAlerts === 1 ? 'alert fires' : 'alerts fire'}.`] : []),
    '',
    `Incident ${id}`,
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
