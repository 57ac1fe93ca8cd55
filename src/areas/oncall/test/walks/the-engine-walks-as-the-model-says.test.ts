import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type Caller, caller, type Someone } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { alert, covered, eventually, group, made, user, ward } from '../support.ts';
import { silentMinutes } from './silent-minutes.ts';

// Random stories told to a real server and to a model that knows nothing of jobs, locks or rows: it plays the rule of the
// specification from one thing that is due to the next. Afterwards the ledger must hold what the model expects: no page missing, none
// more. And of every minute in which an unacknowledged incident was open, somebody was paged in it or the timeline says why not.

interface Story {
  waits: number[];
  repeat: number;
  /** Whom each step targets: somebody who is there, has left, or whose every page fails. */
  who: ('present' | 'absent' | 'unreachable')[];
  /** Seconds after which whoever acknowledged is reminded. */
  remind: number;
  /** Whoever acknowledges first cannot be reached afterwards. */
  deaf: boolean;
  /** `away`: the clock jumps, as if the server had not run meanwhile. The sender may repeat its alerts, end them, or say no more. */
  deeds: (
    | { is: 'pass' | 'away'; seconds: number }
    | { is: 'ack' | 'resolve' | 'edit' | 'restart' | 'alert' | 'repeat' | 'end' | 'leave' }
  )[];
}

const stories: fc.Arbitrary<Story> = fc
  .record({
    waits: fc.array(fc.constantFrom(0, 1_010, 3_030, 15_150), { minLength: 1, maxLength: 4 }),
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
          arbitrary: fc.record({
            is: fc.constantFrom('pass' as const, 'pass' as const, 'away' as const),
            seconds: fc.constantFrom(350, 1_250, 3_050, 5_950, 20_350, 92_450),
          }),
        },
        {
          weight: 5,
          arbitrary: fc.record({ is: fc.constantFrom('ack' as const, 'alert' as const, 'alert' as const) }),
        },
        {
          weight: 3,
          arbitrary: fc.record({
            is: fc.constantFrom(
              'resolve' as const,
              'edit' as const,
              'restart' as const,
              'leave' as const,
              'repeat' as const,
              'end' as const,
            ),
          }),
        },
      ),
      { minLength: 2, maxLength: 9 },
    ),
  })
  .filter((s) => s.repeat === 0 || s.waits.some((w) => w > 0));

/** Between two alerts more than a minute passes: how many pages a minute holds is another story. */
const beforeAlert = 70;

/** Two things that are due closer to each other than this may come in any order: real seconds pass too while a story is told. */
const closest = 40;

const never = Number.POSITIVE_INFINITY;
const hour = 3_600;

interface Told {
  /** `round.pass.step` for every step that paged somebody. */
  paged: string[];
  notices: number;
  /** How often the silence of the sender was told. */
  silences: number;
  state: string;
}

/** What the specification says, from one thing that is due to the next. Undefined: too much is due at once to say what comes first; silent it must not be all the same. */
function model({ waits, repeat, who, remind, deaf, deeds }: Story): Told | undefined {
  const told: Told = { paged: [], notices: 0, silences: 0, state: 'walking' };
  let clock = 0;
  let round = 0;
  let [due, pass, step, waitedInPass] = [0, 0, 0, 0];
  let by: 'ada' | 'owner' | undefined;
  let isAdaThere = true;
  let remindAt = never;
  /** What fires: when it was last heard of, and when its sender has fallen silent should it say no more. */
  let firing: { heard: number; silentAt: number }[] = [];
  let longestRepeat: number | undefined;
  let isUnclear = false;
  const walk = () => {
    while (told.state === 'walking' && due <= clock) {
      if (step === waits.length) {
        told.state = 'exhausted';
        return;
      }
      const there = who[step] === 'present';
      isUnclear ||= who[step] === 'unreachable' && due < clock; // whether its wait was over before its pages had failed
      if (there) told.paged.push(`${round}.${pass}.${step}`);
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
    told.state = 'walking';
    [due, pass, step, waitedInPass, remindAt] = [clock, 0, 0, 0, never];
    walk();
  };
  const notice = () => {
    if (by === 'ada' && (deaf || !isAdaThere)) again();
    else told.notices++;
  };
  const hearNews = () => {
    if (told.state === 'exhausted') again();
    else if (told.state === 'acknowledged') notice();
  };
  const look = () => {
    for (const alert of firing.filter((a) => a.silentAt <= clock)) {
      alert.silentAt = never;
      if (told.state !== 'resolved') told.silences++;
      hearNews();
    }
    if (told.state === 'acknowledged' && remindAt <= clock) {
      remindAt = clock + remind;
      notice();
    }
    walk();
  };
  const nextSilence = () => Math.min(never, ...firing.map((a) => a.silentAt));
  const pending = () => [
    told.state === 'walking' ? due : never,
    told.state === 'acknowledged' ? remindAt : never,
    ...(told.state === 'resolved' ? [] : firing.map((a) => a.silentAt)),
  ];
  /** False: something else is due nearly now. */
  const passTo = (then: number): boolean => {
    for (let next = Math.min(...pending()); next <= then; next = Math.min(...pending())) {
      clock = next;
      look();
      if (Math.min(...pending()) - clock < closest) return false;
    }
    clock = then;
    return Math.min(...pending()) - clock >= closest;
  };
  const silentAt = () => clock + (longestRepeat === undefined ? 25 * hour : Math.max(5 * hour, 2 * longestRepeat));
  const hear = (is: 'alert' | 'repeat' | 'end') => {
    if (told.state === 'resolved') return;
    if (is === 'end') firing = [];
    if (is === 'repeat' && firing.length) {
      const pause = Math.max(...firing.map((a) => clock - a.heard));
      firing = firing.map(() => ({ heard: clock, silentAt: silentAt() }));
      longestRepeat = Math.min(Math.max(longestRepeat ?? 0, pause), 48 * hour);
    }
    if (is === 'alert') {
      firing.push({ heard: clock, silentAt: silentAt() });
      hearNews();
    }
  };
  look();
  for (const deed of deeds) {
    if (deed.is === 'away') {
      if (told.state !== 'resolved' && nextSilence() < clock + deed.seconds + closest) return undefined; // what is seen first is chance
      clock += deed.seconds;
      look();
      if (!passTo(clock)) return undefined;
    } else if (!passTo(clock + (deed.is === 'pass' ? deed.seconds : deed.is === 'alert' || deed.is === 'repeat' ? beforeAlert : 0)))
      return undefined;
    if (deed.is === 'ack' && told.state !== 'resolved' && told.state !== 'acknowledged') {
      told.state = 'acknowledged';
      by = isAdaThere ? 'ada' : 'owner';
      remindAt = remind ? clock + remind : never;
    }
    if (deed.is === 'resolve') told.state = 'resolved';
    if (deed.is === 'leave' && isAdaThere) {
      isAdaThere = false;
      if (told.state === 'acknowledged' && by === 'ada') again();
    }
    if (deed.is === 'alert' || deed.is === 'repeat' || deed.is === 'end') hear(deed.is);
  }
  return isUnclear ? undefined : told;
}

const DueRow = Type.Object({ due: Type.Integer() });
const PagedRow = Type.Object({ at: Type.String(), state: Type.String(), notice: Type.Integer() });

const NextRow = Type.Object({ seconds: Type.Union([Type.Integer(), Type.Null()]) });
const NowRow = Type.Object({ now: Type.String() });

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
                  + (select count(*) from oncall.page where state in ('queued', 'sending') and due_at <= kernel.now())
                  + (select count(*) from oncall.alert where status = 'firing' and lease_until < kernel.now()))::int as due`,
        ))!.due === 0,
    );
  /** Time goes by while the server runs: whatever falls due is done in its minute. Minutes in which nothing is due need not be lived through. */
  const passTime = async (seconds: number) => {
    const end = Date.parse(await now()) + seconds * 1000;
    for (;;) {
      const left = Math.ceil((end - Date.parse(await now())) / 1000);
      const { seconds: next } = (await qd.app.db.read(
        (tx) => row(tx, NextRow)`
          select ceil(extract(epoch from least((select min(run_at) from kernel.job where lane = 'page' and dead_at is null and run_at > kernel.now()),
                                              (select min(lease_until) from oncall.alert where status = 'firing')) - kernel.now()))::int as seconds`,
      ))!;
      if (left > 0) await qd.clock.advance(`${Math.min(left, Math.max(1, next ?? left))}s`);
      await calm();
      if (next === null || left <= next) return;
    }
  };
  const now = async () => (await qd.app.db.read((tx) => row(tx, NowRow)`select kernel.now() as now`))!.now;
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
    let firing: string[] = [];
    const deliver = async (names: string[], status: 'firing' | 'resolved' = 'firing') => {
      const { status: its } = await made(api.get(`/oncall/incidents/${id}`));
      if (its === 'resolved' || !names.length) return;
      const list = names.map((name) => alert(name, { status }));
      await made(caller(qd.url, source.token).post(`/oncall/alert-sources/${source.id}/alerts`, group(list)));
      firing = status === 'resolved' ? [] : [...new Set([...firing, ...names])];
    };
    const deeds: Record<Exclude<Story['deeds'][number]['is'], 'pass' | 'away'>, () => Promise<unknown>> = {
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
        await passTime(beforeAlert);
        await deliver([`alert ${alerts++}`]);
      },
      repeat: async () => {
        await passTime(beforeAlert);
        await deliver(firing);
      },
      end: () => deliver(firing, 'resolved'),
    };
    for (const deed of story.deeds) {
      if (deed.is === 'pass') await passTime(deed.seconds);
      else if (deed.is === 'away') await qd.clock.advance(`${deed.seconds}s`);
      else await deeds[deed.is]();
      await calm();
    }
    const found = await made(api.get(`/oncall/incidents/${id}`));
    const pages = await qd.app.db.read(
      (tx) => rows(tx, PagedRow)`
        select round || '.' || pass || '.' || step as at, state, notice from oncall.page
         where incident_id = ${id} and state <> 'failed' order by round, pass, step`,
    );
    const until = await now();
    await api.post(`/oncall/incidents/${id}/resolve`);
    await deliver(firing, 'resolved');
    return {
      silent: silentMinutes(found.timeline, until).slice(0, 3),
      story: found.timeline.map((e: { at: string; kind: string; message: string }) => `${e.at} ${e.kind} ${e.message}`).join('\n'),
      silences: found.timeline.filter((e: { kind: string }) => e.kind === 'alert_stale').length,
      paged: pages.filter((p) => !p.notice).map((p) => p.at),
      notices: pages.filter((p) => p.notice).length,
      state: found.escalation.state as string,
      ends: new Set(pages.map((p) => p.state)),
    };
  };

  await fc.assert(
    fc.asyncProperty(stories, async (story) => {
      const expected = model(story);
      const { ends, silent, story: lines, ...rest } = await tell(story);
      if (expected) assert.deepEqual(rest, expected);
      assert.deepEqual(silent, [], `nobody was paged in these minutes, and the timeline does not say why: ${silent}\n${lines}`);
      for (const end of ends) assert.equal(end, 'sent');
    }),
    { numRuns: 20, endOnFailure: true },
  );
});
