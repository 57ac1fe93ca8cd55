import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Quarterdeck, quarterdeck } from '../../../../../../test/harness/index.ts';
import { operator } from '../../../../../identity/audit.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { takeReport } from '../../engine/feedback/index.ts';
import { settleOutcomes } from '../../engine/queue/settle.ts';
import { pauseSending, resumeSending } from '../../engine/sending-pause.ts';
import { readReport } from '../../rules/report/index.ts';
import { type RecipientOutcome, updateMessageStates } from '../../store/queue.ts';
import { complaint, delay, hardBounce, softBounce, success, vacation } from './mails.ts';

type Step =
  | 'claim'
  | 'delivered'
  | 'sent'
  | 'refused'
  | 'later'
  | 'hard'
  | 'soft'
  | 'delay'
  | 'vacation'
  | 'success'
  | 'complaint'
  | 'praise'
  | 'pause'
  | 'resume';
const steps: Step[] = [
  'claim',
  'delivered',
  'sent',
  'refused',
  'later',
  'hard',
  'soft',
  'delay',
  'vacation',
  'success',
  'complaint',
  'praise',
  'pause',
  'resume',
];

interface Model {
  state: string;
  isTried: boolean;
  isLeased: boolean;
  isSuppressed: boolean;
  kinds: string[];
}

/** The model of one recipient: complained is final, a failure never becomes a success, delays end nothing. */
function follow(m: Model, step: Step): Model {
  const ended = ['bounced', 'failed', 'complained'].includes(m.state);
  const note = (...kinds: string[]) => [...m.kinds, ...(m.kinds.length ? [] : ['sent']), ...kinds];
  const done = { isLeased: false };
  switch (step) {
    case 'claim':
      return m.state === 'queued' || m.state === 'deferred' ? { ...m, state: 'sending', isTried: true, isLeased: true } : m;
    case 'delivered':
      return m.isLeased ? { ...m, ...done, state: 'delivered', kinds: note('delivered') } : m;
    case 'sent':
      return m.isLeased ? { ...m, ...done, state: 'sent', kinds: note() } : m;
    case 'refused':
      return m.isLeased ? { ...m, ...done, state: 'bounced', isSuppressed: true, kinds: [...m.kinds, 'bounced'] } : m;
    case 'later':
      return m.isLeased ? { ...m, ...done, state: 'deferred' } : m;
    case 'hard':
    case 'soft':
      return ended || !m.isTried
        ? m
        : { ...m, ...done, state: 'bounced', isSuppressed: m.isSuppressed || step === 'hard', kinds: note('bounced') };
    case 'success':
      return m.state === 'sent' ? { ...m, state: 'delivered', kinds: note('delivered') } : m;
    case 'complaint': {
      const kinds = m.kinds.includes('sent') ? [...m.kinds, 'complained'] : [...m.kinds, 'sent', 'complained'];
      return m.state === 'complained' || !m.isTried ? m : { ...m, ...done, state: 'complained', isSuppressed: true, kinds };
    }
    default:
      return m;
  }
}

const mails = {
  hard: hardBounce,
  soft: softBounce,
  delay,
  success,
  complaint: () => complaint(),
  praise: () => complaint('not-spam'),
  vacation: () => vacation,
};

/** One recipient of one message as rows, with the events that reach it. */
async function play(qd: Quarterdeck, played: Step[]) {
  const { app, owner } = qd;
  const org = owner.orgId;
  const messageId = `msg_${randomUUID()}`;
  const address = `bob-${randomUUID()}@far.example`;
  const { id } = await app.db.write(async (tx) => {
    await tx.query(sql`
      insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id, body_offset, body_bytes, header_bytes, body_hash)
      values (${org}, ${messageId}, 'send', 'queued', kernel.now(), kernel.now(), 'http', 'dom_1', 'ada@example.com', ${[address]}, '{}', 'x', 0, 0, 0, '')`);
    const { rows } = await tx.query(sql`
      insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at)
      values (${org}, ${messageId}, ${address}, ${address}, 'queued', kernel.now(), kernel.now() + interval '1 year') returning id::int as id`);
    return rows[0] as { id: number };
  });
  let lease = '';
  const settle = (fate: Partial<RecipientOutcome>) => {
    const common = {
      id,
      lease: lease || randomUUID(),
      message_id: messageId,
      after_seconds: 3_600,
      counts: false,
      error: null,
      bounce_type: null,
      handed: false,
      detail: null,
    };
    return settleOutcomes(app, [{ ...common, state: 'delivered', ...fate } as RecipientOutcome]);
  };
  const act = async (step: Step) => {
    if (step === 'claim') {
      const next = randomUUID();
      const { rows } = await app.db.write((tx) =>
        tx.query(sql`
          update email.recipient set state = 'sending', attempts = attempts + 1, lease = ${next}, lease_until = kernel.now() + interval '1 year'
           where id = ${id} and state in ('queued', 'deferred') returning id`),
      );
      if (rows.length) {
        lease = next;
        await app.db.write((tx) => updateMessageStates(tx, [messageId]));
      }
    } else if (step === 'delivered' || step === 'sent') await settle({ state: step, handed: true });
    else if (step === 'refused') await settle({ state: 'bounced', bounce_type: 'hard' });
    else if (step === 'later') await settle({ state: 'deferred', counts: true });
    else if (step === 'pause') await app.db.write((tx) => pauseSending(tx, operator(org), 'a test'));
    else if (step === 'resume') await app.db.write((tx) => resumeSending(tx, operator(org)));
    else {
      const mail = mails[step](address);
      await takeReport(app, { org, messageId, recipientId: id, parsed: readReport(mail) });
    }
  };
  for (const step of played) await act(step);
  return app.db.read(async (tx) => {
    const one = async (query: ReturnType<typeof sql>) => (await tx.query(query)).rows[0] as Record<string, unknown>;
    const recipient = await one(sql`select state, lease from email.recipient where id = ${id}`);
    const events = await tx.query(sql`select kind from email.event where message_id = ${messageId} order by id`);
    const message = await one(sql`select state from email.message where id = ${messageId}`);
    const listed = await one(sql`select count(*)::int as n from email.suppression where org_id = ${org} and address = ${address}`);
    return {
      state: recipient.state as string,
      message: message.state as string,
      isLeased: recipient.lease !== null,
      isSuppressed: listed.n === 1,
      kinds: events.rows.map((e) => (e as { kind: string }).kind),
    };
  });
}

test('any order of replies, reports, complaints and resumes matches the model', async (t) => {
  const qd = await quarterdeck(t);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 8 }), async (rest) => {
      const played: Step[] = ['claim', ...rest];
      const start: Model = { state: 'queued', isTried: false, isLeased: false, isSuppressed: false, kinds: [] };
      const { isTried: _, ...expected } = played.reduce(follow, start);
      const { message, ...found } = await play(qd, played);
      assert.deepEqual(found, expected, played.join(' '));
      assert.equal(message, found.state);
    }),
    { numRuns: 60 },
  );
});
