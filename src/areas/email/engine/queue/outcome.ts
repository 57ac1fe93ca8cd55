import type { Fate } from '../../store/queue.ts';
import type { Outcome, ServerReply } from '../outgoing.ts';
import type { LeasedRecipient } from './index.ts';

export interface RecipientOutcome {
  item: LeasedRecipient;
  row: Fate;
  /** It is in the journal; called once the database has it. */
  onSettled?: () => void;
}

/** So much of another server's words is kept. */
const maxReplyChars = 1_000;
/** A cut may leave half a character, which PostgreSQL does not take. */
const truncate = (text: string) => text.slice(0, maxReplyChars).toWellFormed();

/** What the log keeps of one attempt. */
export function toRecipientOutcome(item: LeasedRecipient, outcome: Outcome, isRelayed: boolean): RecipientOutcome {
  const { serverReply } = outcome;
  const common = { id: item.id, lease: item.lease, message_id: item.messageId, after_seconds: 0, counts: false, bounce_type: null };
  const detail = { ...serverReply, response: truncate(serverReply.response), attempt: item.tries + 1 };
  switch (outcome.kind) {
    case 'delivered':
      return { item, row: { ...common, state: isRelayed ? 'sent' : 'delivered', error: null, handed: true, detail } };
    case 'bounced': {
      const bounce = { bounce_type: outcome.bounceType, detail: { ...detail, class: outcome.class } };
      return {
        item,
        row: { ...common, ...bounce, state: 'bounced', error: lastErrorOf(serverReply), handed: serverReply.stage === 'dot' },
      };
    }
    case 'deferred':
      return {
        item,
        row: {
          ...common,
          state: 'deferred',
          after_seconds: Math.ceil(outcome.afterSeconds),
          counts: true,
          error: lastErrorOf(serverReply),
          handed: serverReply.stage === 'dot',
          detail: { ...detail, class: outcome.class },
        },
      };
    case 'waits':
      if (outcome.because === 'stop') return requeue(item);
      return {
        item,
        row: {
          ...common,
          state: 'deferred',
          after_seconds: Math.ceil(outcome.afterSeconds),
          error: lastErrorOf(serverReply),
          handed: false,
          detail,
          ours: outcome.because === 'ours',
        },
      };
  }
}

/** For `lastError`: who said it, and what. */
const lastErrorOf = ({ mx, response }: ServerReply) => truncate(`${mx ? `${mx}: ` : ''}${response}`);

const withoutAttempt = (item: LeasedRecipient) => ({
  id: item.id,
  lease: item.lease,
  message_id: item.messageId,
  after_seconds: 0,
  counts: false,
  bounce_type: null,
  handed: false,
});

/** It will not be tried again, for a reason of ours. */
export const failRecipient = (item: LeasedRecipient, error: string): RecipientOutcome => ({
  item,
  row: { ...withoutAttempt(item), state: 'failed', error, detail: { stage: 'here', response: error } },
});

/** What was scheduled and may not leave any more when its time has come. */
export interface SendRefusal {
  state: 'failed' | 'suppressed';
  reason: string;
}

export const refuseRecipient = (item: LeasedRecipient, { state, reason }: SendRefusal): RecipientOutcome => ({
  item,
  row: { ...withoutAttempt(item), state, error: reason, detail: { stage: 'here', response: reason } },
});

/** Its organization's sending is paused, or this server stops: it waits in its row, as if nothing had been begun. */
export const requeue = (item: LeasedRecipient): RecipientOutcome => ({
  item,
  row: { ...withoutAttempt(item), state: 'queued', error: null, detail: null },
});
