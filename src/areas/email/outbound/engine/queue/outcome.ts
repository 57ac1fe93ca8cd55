import type { RecipientOutcome } from '../../store/queue.ts';
import type { Outcome, ServerReply } from '../outgoing.ts';
import type { LeasedRecipient, SendRefusal } from './types.ts';

export interface PendingOutcome {
  item: LeasedRecipient;
  row: RecipientOutcome;
  /** Set when the journal has this outcome; called once the database has it. */
  onSettled?: () => void;
}

/** The rest of a remote server's reply is dropped. */
const maxReplyChars = 1_000;
/** Cutting may leave half a surrogate pair, which PostgreSQL refuses. */
const truncate = (text: string) => text.slice(0, maxReplyChars).toWellFormed();

/** The log's row for the outcome of one attempt. */
export function toPendingOutcome(item: LeasedRecipient, outcome: Outcome, isRelayed: boolean): PendingOutcome {
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

/** `lastError`: the remote host and its reply. */
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

/** Failed for good for a local reason. */
export const failRecipient = (item: LeasedRecipient, error: string): PendingOutcome => ({
  item,
  row: { ...withoutAttempt(item), state: 'failed', error, detail: { stage: 'here', response: error } },
});

export const refuseRecipient = (item: LeasedRecipient, { state, reason }: SendRefusal): PendingOutcome => ({
  item,
  row: { ...withoutAttempt(item), state, error: reason, detail: { stage: 'here', response: reason } },
});

/** Its organization's sending is paused, or this server stops: the recipient is queued again without an attempt. */
export const requeue = (item: LeasedRecipient): PendingOutcome => ({
  item,
  row: { ...withoutAttempt(item), state: 'queued', error: null, detail: null },
});
