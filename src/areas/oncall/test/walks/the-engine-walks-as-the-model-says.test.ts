import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type Caller, caller } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { row, rows } from '../../../../kernel/db/index.ts';
import { covered, eventually, made, user, ward } from '../support.ts';

// Random stories told to a real server and to a model that knows nothing of jobs, locks or rows: it plays the rule of the
// specification second by second. Afterwards the ledger must hold what the model expects: no page missing, none more.

interface Story {
  waits: number[];
  repeat: number;
  /** Which steps target somebody who has left. */
  gone: boolean[];
  deeds: ({ is: 'pass'; seconds: number } | { is: 'ack' | 'resolve' | 'edit' | 'restart' })[];
}

const stories: fc.Arbitrary<Story> = fc
  .record({
    waits: fc.array(fc.constantFrom(0, 1_000, 3_000, 15_000), { minLength: 1, maxLength: 4 }),
    repeat: fc.integer({ min: 0, max: 2 }),
    gone: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    deeds: fc.array(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({ is: fc.constant('pass' as const), seconds: fc.constantFrom(350, 1_250, 3_050, 5_950, 20_350, 80_450) }),
        },
        {
          weight: 1,
          arbitrary: fc.record({ is: fc.constantFrom('ack' as const, 'resolve' as const, 'edit' as const, 'restart' as const) }),
        },
      ),
      { minLength: 2, maxLength: 7 },
    ),
  })
  .filter((s) => s.repeat === 0 || s.waits.some((w) => w > 0));

/** What the specification says, one deed after the other: a list of `pass.step` for every step that paged somebody. */
function model({ waits, repeat, gone, deeds }: Story): { paged: string[]; state: string } {
  const paged: string[] = [];
  let state = 'walking';
  let clock = 0;
  let due = 0;
  let pass = 0;
  let step = 0;
  let waitedInPass = 0;
  const look = () => {
    while (state === 'walking' && due <= clock) {
      if (step === waits.length) {
        state = 'exhausted';
        return;
      }
      const there = !gone[step];
      if (there) paged.push(`${pass}.${step}`);
      const wait = there ? waits[step]! : 0;
      waitedInPass += wait;
      const wasLast = step === waits.length - 1;
      if (wasLast && pass < repeat) {
        const all = waits.reduce((a, b) => a + b, 0);
        due = clock + (waitedInPass > 0 ? wait : Math.max(60, all));
        pass++;
        step = 0;
        waitedInPass = 0;
      } else {
        due += wait;
        step++;
      }
    }
  };
  look();
  for (const deed of deeds) {
    if (deed.is === 'pass') clock += deed.seconds;
    if (deed.is === 'ack' && state !== 'resolved') state = state === 'acknowledged' ? state : 'acknowledged';
    if (deed.is === 'resolve') state = 'resolved';
    look();
  }
  return { paged, state };
}

const DueRow = Type.Object({ due: Type.Integer() });
const PagedRow = Type.Object({ at: Type.String(), state: Type.String() });

test('the ledger holds what the model expects, whatever happens in between', { timeout: 180_000 }, async (t) => {
  const database = await freshDatabase();
  t.after(() => database.drop());
  const { dataDir } = await scratch(t);
  const options = { connection: database.connection, dataDir };
  let qd = await ward(t, options);
  const { owner, smtp } = qd;
  let api: Caller = owner;
  const present = await qd.member(owner, 'member', 'present@example.com');

  const calm = () =>
    eventually(
      async () =>
        (await qd.app.db.read(
          (tx) => row(tx, DueRow)`
            select ((select count(*) from oncall.incident where walk_state = 'walking' and next_at <= kernel.now())
                  + (select count(*) from oncall.page where state in ('queued', 'sending') and due_at <= kernel.now()))::int as due`,
        ))!.due === 0,
    );
  const restart = async () => {
    const before = qd;
    qd = await ward(t, { ...options, env: { QUARTERDECK_SMTP_RELAY: smtp.url } });
    api = caller(qd.url, owner.key);
    await before.stop();
  };

  let told = 0;
  // Real seconds pass too while a story is told. Waits are thousands and what passes is fifties, so that a few do not matter.
  const tell = async (story: Story) => {
    const left = await qd.member(owner, 'member', `left-${told++}@example.com`);
    const steps = story.waits.map((w, i) => [user(story.gone[i] ? left : present), w] as [ReturnType<typeof user>, number]);
    const { service, policy } = await covered(api, { steps, repeat: story.repeat });
    await made(api.delete(`/organization/members/${left.userId}`));
    const { id } = await made(api.post('/oncall/incidents', { serviceId: service.id, title: 'story' }));
    await calm();
    for (const deed of story.deeds) {
      if (deed.is === 'pass') await qd.clock.advance(`${deed.seconds}s`);
      if (deed.is === 'ack' || deed.is === 'resolve') await api.post(`/oncall/incidents/${id}/${deed.is}`);
      if (deed.is === 'edit')
        await made(api.patch(`/oncall/escalation-policies/${policy.id}`, { repeat: 0, steps: [{ target: user(owner), waitSeconds: 1 }] }));
      if (deed.is === 'restart') await restart();
      await calm();
    }
    const found = await made(api.get(`/oncall/incidents/${id}`));
    const pages = await qd.app.db.read(
      (tx) => rows(tx, PagedRow)`select pass || '.' || step as at, state from oncall.page where incident_id = ${id} order by pass, step`,
    );
    await api.post(`/oncall/incidents/${id}/resolve`);
    return { paged: pages.map((p) => p.at), state: found.escalation.state as string, ends: new Set(pages.map((p) => p.state)) };
  };

  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const { paged, state, ends } = await tell(story);
      assert.deepEqual({ paged, state }, model(story));
      for (const end of ends) assert.equal(end, 'sent');
    }),
    { numRuns: 8, endOnFailure: true },
  );
});
