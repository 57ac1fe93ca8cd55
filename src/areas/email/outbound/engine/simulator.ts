import Type from 'typebox';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../../kernel/jobs/index.ts';
import type { Report } from '../rules/report/index.ts';
import { type Scenario, scenarioOf } from '../rules/simulator.ts';
import { applyReport } from './feedback/index.ts';
import type { Outcome } from './outgoing.ts';

const host = { mx: 'simulator.invalid', stage: 'dot' };
const deferSeconds = 60;

/** The outcome of an attempt at a simulator address, without the network. */
export function simulateAttempt(story: Scenario, tries: number): Outcome {
  if (story === 'bounced') {
    const serverReply = { ...host, stage: 'rcpt', code: 550, enhanced: '5.1.1', response: '550 5.1.1 The simulator knows no such mailbox' };
    return { kind: 'bounced', bounceType: 'hard', class: 'InvalidRecipient', serverReply };
  }
  if (story === 'deferred' && tries === 0) {
    const serverReply = {
      ...host,
      stage: 'rcpt',
      code: 451,
      enhanced: '4.2.0',
      response: '451 4.2.0 The simulator takes it a minute later',
    };
    return { kind: 'deferred', afterSeconds: deferSeconds, class: 'TransientFailure', serverReply };
  }
  return { kind: 'delivered', serverReply: { ...host, code: 250, enhanced: '2.0.0', response: '250 2.0.0 The simulator took it' } };
}

const complaint: Report = {
  kind: 'complaint',
  recipients: [],
  complaint: { feedbackType: 'abuse', userAgent: 'simulator', addresses: [] },
};

/** Complains about a message to `complained@simulator.invalid`. Safe to run twice: a second complaint changes nothing. */
export const simulateComplaint = job(
  'email.simulate-complaint',
  { payload: Type.Object({ org: Type.String(), messageId: Type.String(), recipientId: Type.Integer() }) },
  async ({ db, payload }) => {
    await db.write((tx) => applyReport(tx, { ...payload, parsed: complaint }));
  },
);

/** Enqueues complaints of delivered simulator recipients, each in its own transaction, as real complaints are. */
export async function enqueueComplaints(tx: Tx, delivered: readonly { id: number; org_id: string; message_id: string; address: string }[]) {
  const complaining = delivered.filter(({ address }) => scenarioOf(address) === 'complained');
  if (complaining.length === 0) return;
  await enqueueMany(
    tx,
    simulateComplaint,
    complaining.map(({ id, org_id, message_id }) => ({
      key: String(id),
      org: org_id,
      payload: { org: org_id, messageId: message_id, recipientId: id },
    })),
  );
}
