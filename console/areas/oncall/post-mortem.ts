import type { Api } from '../../../sdk/browser.ts';
import { offsetOf, spanOf } from './story-words.ts';

// The draft of a post-mortem: the facts and their times, and headings for what people alone can say. Pure.

export type Story = Awaited<ReturnType<Api['oncall']['getIncidentStory']>>;

/** Invisible; what follows it is no name or address to a renderer of Markdown. */
const wordJoiner = '\u2060';

/** Other people's words on one line: no markup, no change of direction, no mention of a person, and no address that becomes a link. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll(/[\\`*_{}[\]<>#|~!&$]/g, '\\$&')
    .replaceAll(/@|:\/\/|www\./gi, `$&${wordJoiner}`)
    .trim();

const utc = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;

const spanBetween = (from: string, to: string): string => spanOf(Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1_000)));

/** The first sign of it, which may be before it opened. */
export const firstSign = ({ incident, entries }: Pick<Story, 'incident' | 'entries'>): string =>
  entries[0] && entries[0].at < incident.openedAt ? entries[0].at : incident.openedAt;

export function postMortem(story: Story): string {
  const { incident, before, entries, withheld, unavailable, truncated } = story;
  const { title, serviceName, openedAt, acknowledgedAt, resolvedAt } = incident;
  const began = firstSign(story);
  const published = entries.find(({ kind }) => kind === 'update_published');
  const line = ({ at, title: what, detail }: Story['entries'][number]) =>
    `- ${utc(at)} (${offsetOf(at, openedAt)}): ${plain(what)}${detail ? `. ${plain(detail)}` : ''}`;
  const missing = [
    ...withheld.map(({ what, permission }) => `${plain(what)} (needs ${permission})`),
    ...unavailable.map(({ area }) => `what ${plain(area)} tells, which did not answer`),
    ...(truncated ? ['entries beyond what a story holds'] : []),
  ];
  const parts = [
    `# Post-mortem: ${plain(title)}`,
    `Draft. Incident ${incident.id} of the service ${plain(serviceName)}. All times are UTC.`,
    '## Summary',
    '_What happened, for whom, and why, in three sentences._',
    '## Figures',
    [
      `- First sign: ${utc(began)}`,
      `- Opened: ${utc(openedAt)}${began === openedAt ? '' : `, ${spanBetween(began, openedAt)} after the first sign`}`,
      acknowledgedAt ? `- Acknowledged: ${utc(acknowledgedAt)}, after ${spanBetween(openedAt, acknowledgedAt)}` : '- Acknowledged: no',
      published
        ? `- First told to the public: ${utc(published.at)}, after ${spanBetween(openedAt, published.at)}`
        : '- Told to the public: no',
      resolvedAt ? `- Resolved: ${utc(resolvedAt)}, after ${spanBetween(openedAt, resolvedAt)}` : '- Resolved: not yet',
    ].join('\n'),
    '## Impact',
    '_What did not work, for how many, and for how long._',
    '## What changed in the hour before',
    before.length ? before.map(line).join('\n') : 'Nothing that its author may read.',
    '## What happened',
    entries.map(line).join('\n'),
    ...(missing.length ? ['Left out of this draft:', missing.map((each) => `- ${each}`).join('\n')] : []),
    '## Cause',
    '_Why it happened, and why it was not noticed or stopped earlier._',
    '## What went well, and what did not',
    '_One line each._',
    '## What changes',
    '- [ ] _What, by whom, until when_',
  ];
  return `${parts.join('\n\n')}\n`;
}
