import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type Caller, caller, type Someone } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { alert, covered, eventually, group, made, user, ward } from '../support.ts';

// Random stories told to a real server and to a model that knows nothing of jobs, locks or rows: it plays the rule of the
// specification second by second. Afterwards the ledger must hold what the model expects: no page missing, none more. And at every
// moment in which an unacknowledged incident is open, somebody was paged, or the timeline says why not.

interface Story {
  waits: number[];
  repeat: number;
  /** Whom each step targets: somebody who is there, has left, or whose every page fails. */
  who: ('present' | 'absent' | 'unreachable')[];
  /** Seconds after which whoever acknowledged is reminded. */
  remind: number;
  /** Whoever acknowledges first cannot be reached afterwards. */
  deaf: boolean;
  deeds: ({ is: 'pass'; seconds: number } | { is: 'ack' | 'resolve' | 'edit' | 'restart' | 'alert' | 'leave' })[];
}

const stories: fc.Arbitrary<Story> = fc
  .record({
    waits: fc.array(fc.constantFrom(0, 1_000, 3_000, 15_000), { minLength: 1, maxLength: 4 }),
    repeat: fc.integer({ min: 0, max: 2 }),
    who: fc.array(fc.constantFrom('present' as const, 'present' as const, 'absent' as const, 'unreachable' as const), {
      minLength: 4,
      maxLength: 4,
    }),
    remind: fc.constantFrom(0, 7_000),
    deaf: fc.boolean(),
    deeds: fc.array(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({ is: fc.constant('pass' as const), seconds: fc.constantFrom(350, 1_250, 3_050, 5_950, 20_350, 80_450) }),
        },
        {
          weight: 5,
          arbitrary: fc.record({ is: fc.constantFrom('ack' as const, 'alert' as const) }),
        },
        {
          weight: 2,
          arbitrary: fc.record({ is: fc.constantFrom('resolve' as const, 'edit' as const, 'restart' as const, 'leave' as const) }),
        },
      ),
      { minLength: 2, maxLength: 8 },
    ),
  })
  .filter((s) => s.repeat === 0 || s.waits.some((w) => w > 0))
  // After a day without a word an alert's sender has fallen silent, which is another story.
  .filter(({ deeds }) => deeds.reduce((sum, deed) => sum + (deed.is === 'pass' ? deed.seconds : 0), 0) < 85_000);

/** Between two alerts more than a minute passes: how many pages a minute holds is another story. */
const beforeAlert = 70;

/** What the specification says, one deed after the other: `round.pass.step` for every step that paged somebody, and how many notices went out. */
function model({ waits, repeat, who, remind, deaf, deeds }: Story): { paged: string[]; notices: number; state: string } {
  const paged: string[] = [];
  let notices = 0;
  let state = 'walking';
  let clock = 0;
  let round = 0;
  let [due, pass, step, waitedInPass] = [0, 0, 0, 0];
  let by: 'ada' | 'owner' | undefined;
  let isAdaThere = true;
  let remindAt = Number.POSITIVE_INFINITY;
  const walk = () => {
    while (state === 'walking' && due <= clock) {
      if (step === waits.length) {
        state = 'exhausted';
        return;
      }
      const there = who[step] === 'present';
      if (there) paged.push(`${round}.${pass}.${step}`);
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
  const again = () => {
    round++;
    [state, due, pass, step, waitedInPass, remindAt] = ['walking', clock, 0, 0, 0, Number.POSITIVE_INFINITY];
    walk();
  };
  const notice = () => {
    if (by === 'ada' && (deaf || !isAdaThere)) again();
    else notices++;
  };
  const look = () => {
    if (state === 'acknowledged' && remindAt <= clock) {
      remindAt = clock + remind;
      notice();
    }
    walk();
  };
  look();
  for (const deed of deeds) {
    if (deed.is === 'pass') clock += deed.seconds;
    if (deed.is === 'alert') clock += beforeAlert;
    look();
    if (deed.is === 'ack' && state !== 'resolved' && state !== 'acknowledged') {
      state = 'acknowledged';
      by = isAdaThere ? 'ada' : 'owner';
      remindAt = remind ? clock + remind : Number.POSITIVE_INFINITY;
    }
    if (deed.is === 'resolve') state = 'resolved';
    if (deed.is === 'leave' && isAdaThere) {
      isAdaThere = false;
      if (state === 'acknowledged' && by === 'ada') again();
    }
    if (deed.is === 'alert' && state === 'exhausted') again();
    else if (deed.is === 'alert' && state === 'acknowledged') notice();
  }
  return { paged, notices, state };
}

const DueRow = Type.Object({ due: Type.Integer() });
const PagedRow = Type.Object({ at: Type.String(), state: Type.String(), notice: Type.Integer() });

/** Somebody was paged since the walk began, or the timeline says why nobody was; and what has ended is said to have ended. */
// biome-ignore lint/suspicious/noExplicitAny: the contract checks the shape
function checkNotSilent(incident: any) {
  if (incident.status !== 'open') return;
  const kinds: string[] = incident.timeline.map((e: { kind: string }) => e.kind);
  const since = kinds.slice(Math.max(kinds.lastIndexOf('opened'), kinds.lastIndexOf('walk_restarted')));
  const isPaged = since.includes('step_fired') && since.includes('page_sent');
  assert.ok(isPaged || since.includes('nobody_on_call'), `open in silence: ${since}`);
  if (incident.escalation.state === 'exhausted') assert.ok(since.includes('escalation_exhausted'), `ended in silence: ${since}`);
  else assert.equal(incident.escalation.state, 'walking');
}

test('the ledger holds what the model expects, whatever happens in between', { timeout: 300_000 }, async (t) => {
  const database = await freshDatabase();
  t.after(() => database.drop());
  const { dataDir } = await scratch(t);
  const options = { connection: database.connection, dataDir };
  let qd = await ward(t, options);
  const { owner, smtp } = qd;
  let api: Caller = owner;

  const calm = () =>
    eventually(
      async () =>
        (await qd.app.db.read(
          (tx) => row(tx, DueRow)`
            select ((select count(*) from kernel.job where lane = 'page' and dead_at is null and run_at <= kernel.now())
                  + (select count(*) from oncall.page where state in ('queued', 'sending') and due_at <= kernel.now()))::int as due`,
        ))!.due === 0,
    );
  const restart = async () => {
    const before = qd;
    qd = await ward(t, { ...options, env: { QUARTERDECK_SMTP_RELAY: smtp.url } });
    api = caller(qd.url, owner.key);
    await before.stop();
  };
  /** SMS alone, in an organization without a provider: every page fails for good. */
  const deafen = ({ userId }: Someone) =>
    qd.app.db.write(
      (tx) => run(tx)`
        insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
        values (${owner.orgId}, ${userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0}]', kernel.now())`,
    );

  let told = 0;
  // Real seconds pass too while a story is told. Waits are thousands and what passes is fifties, so that a few do not matter.
  const tell = async (story: Story) => {
    const n = told++;
    const named = (name: string, role: 'member' | 'admin' = 'member') => qd.member(owner, role, `${name}-${n}@example.com`);
    const people = { present: await named('present'), absent: await named('absent'), unreachable: await named('unreachable') };
    const ada = await named('ada', 'admin');
    await deafen(people.unreachable);
    if (story.deaf) await deafen(ada);
    const steps = story.waits.map((w, i) => [user(people[story.who[i]!]), w] as [ReturnType<typeof user>, number]);
    const { service, policy } = await covered(api, { steps, repeat: story.repeat });
    await made(api.patch(`/oncall/escalation-policies/${policy.id}`, { remindAfterSeconds: story.remind }));
    const source = await made(api.post('/oncall/alert-sources', { name: 'prometheus', serviceId: service.id }));
    await made(api.delete(`/organization/members/${people.absent.userId}`));
    const { id } = await made(api.post('/oncall/incidents', { serviceId: service.id, title: 'story' }));
    await calm();
    let isAdaThere = true;
    let alerts = 0;
    const deeds: Record<Exclude<Story['deeds'][number]['is'], 'pass'>, () => Promise<unknown>> = {
      ack: () => (isAdaThere ? caller(qd.url, ada.key) : api).post(`/oncall/incidents/${id}/ack`),
      resolve: () => api.post(`/oncall/incidents/${id}/resolve`),
      edit: () =>
        made(api.patch(`/oncall/escalation-policies/${policy.id}`, { repeat: 0, steps: [{ target: user(owner), waitSeconds: 1 }] })),
      restart,
      leave: async () => {
        if (isAdaThere) await made(api.delete(`/organization/members/${ada.userId}`));
        isAdaThere = false;
      },
      alert: async () => {
        await qd.clock.advance(`${beforeAlert}s`);
        await calm();
        const { status } = await made(api.get(`/oncall/incidents/${id}`));
        if (status !== 'resolved')
          await made(caller(qd.url, source.token).post(`/oncall/alert-sources/${source.id}/alerts`, group([alert(`alert ${alerts++}`)])));
      },
    };
    for (const deed of story.deeds) {
      if (deed.is === 'pass') await qd.clock.advance(`${deed.seconds}s`);
      else await deeds[deed.is]();
      await calm();
      checkNotSilent(await made(api.get(`/oncall/incidents/${id}`)));
    }
    const found = await made(api.get(`/oncall/incidents/${id}`));
    const pages = await qd.app.db.read(
      (tx) => rows(tx, PagedRow)`
        select round || '.' || pass || '.' || step as at, state, notice from oncall.page
         where incident_id = ${id} and state <> 'failed' order by round, pass, step`,
    );
    await api.post(`/oncall/incidents/${id}/resolve`);
    return {
      paged: pages.filter((p) => !p.notice).map((p) => p.at),
      notices: pages.filter((p) => p.notice).length,
      state: found.escalation.state as string,
      ends: new Set(pages.map((p) => p.state)),
    };
  };

  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const { ends, ...rest } = await tell(story);
      assert.deepEqual(rest, model(story));
      for (const end of ends) assert.equal(end, 'sent');
    }),
    { numRuns: 12, endOnFailure: true },
  );
});
