import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import Type from 'typebox';
import { type Caller, caller, type Someone } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { alert, covered, eventually, group, made, user, ward } from '../support.ts';
import { beforeAlert, fixedStories, playModel, type Story, stories } from './model.ts';
import { silentMinutes } from './silent-minutes.ts';

const DueRow = Type.Object({ due: Type.Integer() });
const PagedRow = Type.Object({ at: Type.String(), state: Type.String(), notice: Type.Integer() });

const NextRow = Type.Object({ seconds: Type.Union([Type.Integer(), Type.Null()]) });
const NowRow = Type.Object({ now: Type.String() });

/** Random stories told to a real server and to the model. Afterwards the ledger must hold what the model expects: no page missing, none more. And of
 *  every minute in which an unacknowledged incident was open, somebody was paged in it or the timeline says why not. */
export async function tellStories(t: TestContext, numRuns: number): Promise<void> {
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
      const expected = playModel(story);
      const { ends, silent, story: lines, ...rest } = await tell(story);
      if (expected) assert.deepEqual(rest, expected);
      assert.deepEqual(silent, [], `no page was sent in these minutes, and the timeline does not say why: ${silent}\n${lines}`);
      for (const end of ends) assert.equal(end, 'sent');
    }),
    { numRuns, endOnFailure: true, examples: fixedStories.map((story) => [story]) },
  );
}
