import type { Kind } from '../../../contract/kinds.ts';
import type { Tx } from '../db/index.ts';

/**
 * Notes that something of these kinds changes in this organization, for people who look at it now (areas/live). It only marks the
 * transaction: the hint leaves after COMMIT, together with those of other transactions. It says neither what changed nor how often.
 */
export function hint(tx: Tx, org: string, ...kinds: readonly Kind[]): void {
  for (const kind of kinds) tx.wake(`${newsPrefix}${org} ${kind}`);
}

/** The same for a batch of several organizations. */
export function hintEach(tx: Tx, orgs: Iterable<string>, ...kinds: readonly Kind[]): void {
  for (const org of new Set(orgs)) hint(tx, org, ...kinds);
}

/** `org` undefined: hints of any organization may be lost, of any kind. */
export type HearNews = (org: string | undefined, kinds: readonly string[]) => void;

const newsPrefix = 'news ';
/** In place of hints that could not be sent. */
export const lostNews = `${newsPrefix}*`;
/** Hints that come meanwhile travel together, so that a queue which changes a thousand rows a second sends ten notifications. */
const minIntervalMs = 100;
/** PostgreSQL takes 8,000 bytes in a notification; the sender’s name stands before these. */
const maxPayloadBytes = 7_500;

export const isNews = (channel: string): boolean => channel.startsWith(newsPrefix);

export interface News {
  /** A channel that a committed transaction marked here. */
  take(channel: string): void;
  /** What another process sent. */
  hear(payload: string): void;
  subscribe(hear: HearNews): () => void;
  /** Hands over what is left. */
  close(): void;
}

/** Collects the hints of this process. Its own listeners hear each at once; `send` gets them packed, a few times a second. */
export function makeNews(send: (payload: string) => void): News {
  const listeners = new Set<HearNews>();
  const unsent = new Map<string, Set<string>>();
  let timer: NodeJS.Timeout | undefined;
  let notBefore = 0;

  const tellAll: HearNews = (org, kinds) => {
    for (const hear of listeners) hear(org, kinds);
  };
  const flush = () => {
    timer = undefined;
    notBefore = performance.now() + minIntervalMs;
    for (const payload of packed(unsent)) send(payload);
    unsent.clear();
  };
  return {
    take: (channel) => {
      const [, org = '', kind = ''] = channel.split(' ');
      tellAll(org, [kind]);
      const kinds = unsent.get(org) ?? new Set();
      unsent.set(org, kinds.add(kind));
      timer ??= setTimeout(flush, Math.max(0, notBefore - performance.now())).unref();
    },
    hear: (payload) => {
      if (payload === lostNews) return tellAll(undefined, []);
      for (const part of payload.slice(newsPrefix.length).split(';')) {
        const [org = '', kinds = ''] = part.split(':');
        tellAll(org, kinds.split(','));
      }
    },
    subscribe: (hear) => {
      listeners.add(hear);
      return () => listeners.delete(hear);
    },
    close: () => {
      clearTimeout(timer);
      flush();
    },
  };
}

/** `news org:kind,kind;org:kind`, as few as hold them all. */
function packed(unsent: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const payloads: string[] = [];
  let parts = '';
  for (const [org, kinds] of unsent) {
    const part = `${org}:${[...kinds].join(',')}`;
    if (parts && newsPrefix.length + parts.length + 1 + part.length > maxPayloadBytes) {
      payloads.push(newsPrefix + parts);
      parts = '';
    }
    parts += parts ? `;${part}` : part;
  }
  if (parts) payloads.push(newsPrefix + parts);
  return payloads;
}
