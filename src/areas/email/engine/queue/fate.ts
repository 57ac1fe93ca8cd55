import type { Fate } from '../../store/queue.ts';
import type { Outcome, Told } from '../outgoing.ts';
import type { Born } from './index.ts';

export interface Fated {
  item: Born;
  fate: Fate;
  /** It is in the journal; called once the database has it. */
  settled?: () => void;
}

/** So much of another server's words is kept. */
const mostWords = 1_000;
/** A cut may leave half a character, which PostgreSQL does not take. */
const cut = (words: string) => words.slice(0, mostWords).toWellFormed();

/** What the log keeps of one attempt. */
export function fateOf(item: Born, outcome: Outcome, isRelayed: boolean): Fated {
  const { told } = outcome;
  const common = { id: item.id, lease: item.lease, message_id: item.messageId, after_seconds: 0, counts: false, bounce_type: null };
  const detail = { ...told, response: cut(told.response), attempt: item.tries + 1 };
  switch (outcome.kind) {
    case 'delivered':
      return { item, fate: { ...common, state: isRelayed ? 'sent' : 'delivered', error: null, handed: true, detail } };
    case 'bounced': {
      const bounce = { bounce_type: outcome.bounceType, detail: { ...detail, class: outcome.class } };
      return { item, fate: { ...common, ...bounce, state: 'bounced', error: sentence(told), handed: told.stage === 'dot' } };
    }
    case 'deferred':
      return {
        item,
        fate: {
          ...common,
          state: 'deferred',
          after_seconds: Math.ceil(outcome.afterSeconds),
          counts: true,
          error: sentence(told),
          handed: told.stage === 'dot',
          detail: { ...detail, class: outcome.class },
        },
      };
    case 'waits':
      if (outcome.because === 'stop') return putBack(item);
      return {
        item,
        fate: {
          ...common,
          state: 'deferred',
          after_seconds: Math.ceil(outcome.afterSeconds),
          error: sentence(told),
          handed: false,
          detail,
          ours: outcome.because === 'ours',
        },
      };
  }
}

/** For `lastError`: who said it, and what. */
const sentence = ({ mx, response }: Told) => cut(`${mx ? `${mx}: ` : ''}${response}`);

const untold = (item: Born) => ({
  id: item.id,
  lease: item.lease,
  message_id: item.messageId,
  after_seconds: 0,
  counts: false,
  bounce_type: null,
  handed: false,
});

/** It will not be tried again, for a reason of ours. */
export const fail = (item: Born, error: string): Fated => ({
  item,
  fate: { ...untold(item), state: 'failed', error, detail: { stage: 'here', response: error } },
});

/** What was scheduled and may not leave any more when its time has come. */
export interface Refused {
  state: 'failed' | 'suppressed';
  why: string;
}

export const refuse = (item: Born, { state, why }: Refused): Fated => ({
  item,
  fate: { ...untold(item), state, error: why, detail: { stage: 'here', response: why } },
});

/** Its organization's sending is paused, or this server stops: it waits in its row, as if nothing had been begun. */
export const putBack = (item: Born): Fated => ({ item, fate: { ...untold(item), state: 'queued', error: null, detail: null } });
