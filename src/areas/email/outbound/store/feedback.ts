import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { updateMessageStates } from './queue.ts';

// Effects of a report: one recipient, its message, and a suppression.

const ReportedRow = Type.Object({
  org_id: Type.String(),
  message_id: Type.String(),
  address: Type.String(),
  folded: Type.String(),
  state: Type.String(),
  attempts: Type.Integer(),
  is_done: Type.Boolean(),
  /** When the recipient was done; now if it is not. */
  since: Type.String(),
  door: Type.String(),
  /** The message was handed over to some server before. */
  is_sent: Type.Boolean(),
  others: Type.Array(Type.String()),
});
export type ReportedRow = Static<typeof ReportedRow>;

/** The recipient of a return path. The message is locked first, the same order as in `settleRecipients`. */
export async function lockReported(tx: Tx, org: string, messageId: string, recipientId: number): Promise<ReportedRow | undefined> {
  const [, found] = await Promise.all([
    run(tx)`select id from email.message where org_id = ${org} and id = ${messageId} for update`,
    row(tx, ReportedRow)`
      select r.org_id, r.message_id, r.address, r.folded, r.state, r.attempts, r.done_at is not null as is_done,
             coalesce(r.done_at, kernel.now()) as since, m.door, m.sent_at is not null as is_sent,
             array(select o.folded from email.recipient o where o.message_id = r.message_id and o.id <> r.id limit 100) as others
        from email.recipient r join email.message m on m.id = r.message_id and m.org_id = r.org_id
       where r.id = ${recipientId} and r.message_id = ${messageId} and r.org_id = ${org}`,
  ]);
  return found;
}

export interface ReportedOutcome {
  recipientId: number;
  messageId: string;
  org: string;
  address: string;
  state: 'bounced' | 'complained' | 'delivered';
  error: string | null;
  bounceType: string | null;
  detail: Record<string, unknown>;
  /** First evidence that the message was handed over. */
  isFirst: boolean;
  /** Null: no suppression. */
  suppress: { folded: string; reason: 'bounce' | 'complaint' } | null;
}

const SuppressedRow = Type.Object({
  id: Type.String(),
  address: Type.String(),
  reason: Type.Enum(['bounce', 'complaint'] as const),
  created_at: Type.String(),
});

/** Also removes a lease, so the process that holds it discards its outcome. Returns the suppression if it is new. */
export async function writeReportedOutcome(tx: Tx, f: ReportedOutcome): Promise<Static<typeof SuppressedRow> | undefined> {
  hint(tx, f.org, 'email.message', ...(f.suppress ? (['email.suppression'] as const) : []));
  const kinds = f.isFirst ? ['sent', f.state] : [f.state];
  const [, , suppressed] = await Promise.all([
    run(tx)`
      update email.recipient set state = ${f.state}, state_at = kernel.now(), last_error = ${f.error}, lease = null, lease_until = null,
             done_at = coalesce(done_at, kernel.now())
       where id = ${f.recipientId} and org_id = ${f.org}`,
    run(tx)`
      insert into email.event (message_id, org_id, kind, bounce_type, recipient, detail, occurred_at)
      select ${f.messageId}, ${f.org}, k.kind, case when k.kind = 'bounced' then ${f.bounceType}::text end, case when k.kind <> 'sent' then ${f.address}::text end,
             case when k.kind <> 'sent' then ${f.detail}::jsonb end, kernel.now()
        from unnest(${kinds}::text[]) with ordinality k(kind, n) order by k.n`,
    f.suppress
      ? rows(tx, SuppressedRow)`
          insert into email.suppression (org_id, id, address, reason, created_at)
          values (${f.org}, kernel.new_id('sup'), ${f.suppress.folded}, ${f.suppress.reason}, kernel.now())
              on conflict do nothing returning id, address, reason, created_at`
      : [],
    updateMessageStates(tx, [f.messageId]),
  ]);
  return suppressed[0];
}
