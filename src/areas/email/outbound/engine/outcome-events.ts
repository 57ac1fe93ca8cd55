import { foldAddress } from '../../rules/envelope.ts';
import type { WebhookEvent } from '../../webhooks/engine/emit-events.ts';
import type { RecipientOutcome, SettledRow } from '../store/queue.ts';
import { suppressionView } from '../views/suppression.ts';

/** The events of a batch of outcomes, in order of occurrence. */
export function outcomeEventsOf(settled: readonly SettledRow[], fates: readonly RecipientOutcome[]): WebhookEvent[] {
  const fateOf = new Map(fates.map((fate) => [fate.id, fate]));
  const seen = new Set<string>();
  const isNew = (id: string) => !seen.has(id) && seen.add(id);
  return settled.flatMap((row) => {
    const fate = fateOf.get(row.id)!;
    const about = { org: row.org_id, messageId: row.message_id };
    const happened: WebhookEvent[] = [];
    if (row.is_first && isNew(row.message_id)) happened.push({ ...about, type: 'email.sent', data: attemptOf(fate) });
    const type = eventTypeOf(row);
    if (type) happened.push({ ...about, type, data: { recipient: row.address, ...outcomeData(row, fate) } });
    if (row.suppression_id !== null && isNew(row.suppression_id)) happened.push(suppressionCreated(row, row.suppression_id));
    return happened;
  });
}

const eventTypeOf = ({ fate, is_late }: SettledRow): WebhookEvent['type'] | undefined => {
  if (fate === 'delivered' || fate === 'bounced' || fate === 'failed' || fate === 'suppressed') return `email.${fate}`;
  return is_late ? 'email.delivery_delayed' : undefined;
};

const attemptOf = ({ detail }: RecipientOutcome) => (typeof detail?.attempt === 'number' ? { attempt: detail.attempt } : {});

function outcomeData(row: SettledRow, fate: RecipientOutcome): Record<string, unknown> {
  const { detail, error } = fate;
  if (row.fate === 'deferred')
    return { delay: { ...attemptOf(fate), nextAttemptAt: row.next_at, ...(detail?.response ? { response: detail.response } : {}) } };
  const reason = row.fate === 'failed' && error !== null ? { reason: error } : {};
  return { ...attemptOf(fate), ...reason, ...(row.bounce_type === null ? {} : { bounce: bounceOf(row.bounce_type, detail ?? {}) }) };
}

/** The remote server's reply, in the payload's field names. */
const bounceOf = (type: string, detail: Record<string, unknown>) => {
  const told = { class: detail.class, code: detail.code, enhancedCode: detail.enhanced, diagnostic: detail.response, remoteMta: detail.mx };
  return { type, ...Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined)), source: 'smtp' };
};

const suppressionCreated = ({ org_id, address, at }: SettledRow, id: string): WebhookEvent => ({
  org: org_id,
  type: 'suppression.created',
  data: { suppression: suppressionView({ id, address: foldAddress(address), reason: 'bounce', created_at: at }) },
});
