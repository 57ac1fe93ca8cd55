import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { addUpDays } from '../../../tasks.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { sendingKey } from '../../../test/sending-key.ts';
import { hardBounce } from '../feedback/mails.ts';
import { report } from '../feedback/reported.ts';

interface Day {
  date: string;
  sent: number;
  delivered: number;
  bounced: number;
  hardBounced: number;
  complained: number;
  suppressed: number;
}

test('each outcome counts on the day on which it was learnt, for its domain', async (t) => {
  const replies: Record<string, string> = { gone: '550 5.1.1 no such user', spam: '554 5.7.1 refused by policy' };
  const { qd, key } = await mailScene(t, {
    at: (stage, line) => (stage === 'rcpt' ? replies[/<([a-z]+)/.exec(line)?.[1] ?? ''] : undefined),
  });
  const { owner, clock, app, perform } = qd;
  const other = await sendingKey(qd, owner, 'other.example');
  const send = async (to: string[], state: string, by = key, from = 'Ada <ada@example.com>') => {
    const { body } = await by.post('/email/send', letter({ to, from }));
    await untilState(qd, (body as { id: string }).id, state);
    return (body as { id: string }).id;
  };
  const stats = async (query = '', by = owner) => {
    const { status, body } = await by.get(`/email/stats${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body as { from: string; to: string; countedFrom: string; days: Day[]; pause?: Record<string, unknown> };
  };
  const figures = ({ sent, delivered, bounced, hardBounced, complained, suppressed }: Day) => [
    sent,
    delivered,
    bounced,
    hardBounced,
    complained,
    suppressed,
  ];
  const today = async (query = '') => figures((await stats(query)).days.at(-1)!);

  assert.deepEqual(await today(), [0, 0, 0, 0, 0, 0]);
  const first = await send(['good@far.example', 'fine@far.example', 'gone@far.example', 'spam@far.example'], 'bounced');
  await send(['good@far.example'], 'delivered', other, 'Bob <bob@other.example>');
  await send(['gone@far.example'], 'suppressed'); // at its submission
  await send(['delivered@simulator.invalid'], 'delivered'); // counts nowhere
  assert.deepEqual(await today(), [5, 3, 2, 1, 0, 1]);
  assert.deepEqual(await today(`?domainId=${key.domainId}`), [4, 2, 2, 1, 0, 1]);
  assert.deepEqual(await today(`?domainId=${other.domainId}`), [1, 1, 0, 0, 0, 0]);

  // Added up, it is the same; twice changes nothing.
  for (let n = 0; n < 2; n++) {
    await perform(addUpDays);
    assert.deepEqual(await today(), [5, 3, 2, 1, 0, 1]);
  }
  const { rows } = await app.db.read((tx) => tx.query(sql`select 1 from email.outcome_change`));
  assert.equal(rows.length, 0);

  // What is learnt the day after counts then.
  await clock.advance('1d');
  await report(qd, first, 'good@far.example', hardBounce('good@far.example'));
  const { days, from, to } = await stats();
  assert.deepEqual([days.length, days[0]!.date, days.at(-1)!.date], [30, from, to]);
  assert.deepEqual(days.slice(-2).map(figures), [
    [5, 3, 2, 1, 0, 1],
    [0, 0, 1, 1, 0, 0],
  ]);
  assert.ok(days.slice(0, -2).every((day) => figures(day).every((n) => n === 0)));

  const { pause, countedFrom } = await stats();
  assert.deepEqual(pause, {
    paused: false,
    recipients: 5,
    hardBounces: 2,
    complaints: 0,
    bouncePct: 40,
    bouncePausePct: 5,
    complaintPct: 0,
    complaintPausePct: 0.3,
  });
  assert.ok(Date.parse(countedFrom) > 0);

  // Who is narrowed to a domain sees that, and not how the organization stands.
  const narrow = await qd.narrowed(owner, [{ role: 'email.viewer', resourceIds: [other.domainId] }]);
  const seen = await stats('', narrow);
  assert.deepEqual([figures(seen.days.at(-2)!), seen.pause], [[1, 1, 0, 0, 0, 0], undefined]);
  assert.deepEqual(figures((await stats(`?domainId=${key.domainId}`, narrow)).days.at(-2)!), [0, 0, 0, 0, 0, 0]);
  assert.deepEqual(figures((await stats('', await qd.organization('neighbour'))).days.at(-2)!), [0, 0, 0, 0, 0, 0]);
  assert.equal((await (await qd.narrowed(owner, [{ role: 'uptime.viewer' }])).get('/email/stats')).status, 403);
});

test('a window has an order and a size', async (t) => {
  const { owner } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const ask = (query: string) => owner.get(`/email/stats?${query}`);
  const whole = await ask('from=2031-01-01T12:00:00Z&to=2031-01-03T00:00:00Z');
  assert.deepEqual(
    whole.body.days.map((d: Day) => d.date),
    ['2031-01-01', '2031-01-02', '2031-01-03'],
  );
  assert.equal((await ask('from=2031-01-01T00:00:00Z&to=2032-02-04T00:00:00Z')).body.days.length, 400);
  for (const [query, sentence] of [
    ['from=2031-01-01T00:00:00Z&to=2032-02-05T00:00:00Z', 'from and to must be at most 400 days apart'],
    ['from=2031-01-02T00:00:00Z&to=2031-01-01T00:00:00Z', 'to must not be before from'],
    ['from=1999-01-01T00:00:00Z', 'from must be a time between the years 2000 and 2100'],
  ]) {
    const refused = await ask(query!);
    assert.deepEqual([refused.status, refused.body.error], [400, sentence]);
  }
});
