import type { TestContext } from 'node:test';
import pg from 'pg';
import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';

/** Counts the statements like this one that the database has answered. */
function watchStatements(t: TestContext, like: string) {
  const seen = { count: 0 };
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  const count = () => void seen.count++;
  const { mock } = t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    const answer = query.apply(this, args);
    if (String((args[0] as { text?: string })?.text).includes(like)) (answer as Promise<unknown>).then(count, () => {});
    return answer;
  });
  return { seen, restore: () => mock.restore() };
}

/** Moves the clock a little until something was asked of the database that was begun after now, and is over. */
async function untilAsked(t: TestContext, { clock }: Quarterdeck, like: string): Promise<void> {
  const { seen, restore } = watchStatements(t, like);
  // The first may have begun before; the third begins when the second is over.
  for (let times = 1; times <= 3; times++) {
    await clock.advance('1s');
    await eventually(async () => seen.count >= times);
  }
  restore();
}

/** Until the queue has looked for what is due, and knows whose sending is paused. */
export const untilLooked = (t: TestContext, qd: Quarterdeck) =>
  untilAsked(t, qd, 'select org_id from email.posture where paused_at is not null');

/** Until the queue has renewed its leases, and knows which of them it has lost. */
export const untilRenewed = (t: TestContext, qd: Quarterdeck) => untilAsked(t, qd, 'renewed as (update email.recipient q');
