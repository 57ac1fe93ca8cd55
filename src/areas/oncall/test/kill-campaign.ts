import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { type Chance, KillableServers, makeChance } from '../../../../test/harness/kill/index.ts';
import { scratch } from '../../../../test/harness/process.ts';
import { caller } from '../../../../test/harness/request.ts';
import { rows } from '../../../kernel/db/index.ts';
import { type PhoneWard, phoneWard } from './phone-support.ts';
import { alert, covered, eventually, group, made, overdue, source, user } from './support.ts';

// Whole servers, killed without a word while alerts open incidents, steps fire, pages go out and people acknowledge. One more,
// which only answers requests and is never killed, is where the test looks.

const PageRow = Type.Object({ title: Type.String(), state: Type.String(), channel: Type.String(), attempts: Type.Integer() });

const HeldRow = Type.Object({ title: Type.String(), pages: Type.Integer() });

export interface Campaign {
  qd: PhoneWard;
  /** As many incidents as named, each by an alert of a service of its own, delivered until it is taken. */
  fire(titles: string[]): Promise<void>;
  chance: Chance;
  kill(which: number): Promise<void>;
  revive(which: number): void;
  /** Until nothing is due any more: what a dead server held is taken over when its lease has lapsed. */
  calm(): Promise<void>;
  /** What the provider was given for an incident, by its title. */
  given(title: string, kind: 'message' | 'call'): number;
  ledger(): Promise<{ title: string; state: string; channel: string; attempts: number }[]>;
  /** Pages that the limits held back, as the timelines of incidents tell it, by title. */
  heldBack(): Promise<ReadonlyMap<string, number>>;
}

interface Force {
  /** How many servers there are to be killed. */
  servers: number;
  /** Who takes over from a killed one is no process of its own: it cannot be killed in turn, and begins at a sixth of the price. */
  isRevivedHere: boolean;
}

export async function campaign(
  t: TestContext,
  rules: { channel: string; delaySeconds: number }[],
  { servers: count, isRevivedHere }: Force,
): Promise<Campaign> {
  const qd = await phoneWard(t, rules, { env: { QUARTERDECK_ROLES: 'api' } });
  const { dir } = await scratch(t);
  const { connection, dataDir } = qd;
  const its = { QUARTERDECK_TWILIO_URL: qd.twilio.url, QUARTERDECK_PUBLIC_URL: qd.url };
  const chance = makeChance(t);
  const servers = new KillableServers(t, { dir, dataDir, connection, count, env: () => its });
  await servers.startMissing();

  const { policy } = await covered(qd.owner, { steps: [[user(qd.alice), 3600]] });
  const deliver = async (title: string) => {
    const { id } = await made(qd.owner.post('/oncall/services', { name: title }));
    await made(qd.owner.put(`/oncall/services/${id}`, { escalationPolicyId: policy.id }));
    const its = await source(qd.owner, qd.url, id);
    const body = group([{ ...alert(title), annotations: { summary: title, description: '' } }]);
    // Like Alertmanager: delivers to any server that answers, until one accepts.
    for (let n = chance.below(count); ; n++) {
      const url = (await Promise.race([servers.url(n % count), sleep(200)])) ?? qd.url;
      const answer = await caller(url, its.token)
        .post(`/oncall/alert-sources/${its.id}/alerts`, body)
        .catch(() => undefined);
      if (answer?.status === 200) return;
      assert.ok(!answer || answer.status >= 500, `${answer?.status} ${JSON.stringify(answer?.body)}`);
      await sleep(50);
    }
  };

  return {
    qd,
    fire: async (titles) => void (await Promise.all(titles.map(deliver))),
    chance,
    kill: (which) => servers.kill(which),
    revive: (which) => void (isRevivedHere ? servers.takeOver(which) : servers.start(which)),
    calm: async () => {
      await Promise.all(Array.from({ length: count }, (_, n) => servers.url(n)));
      await eventually(
        async () => {
          // A live server finishes its jobs first: moving the clock during a send would be another kind of fault.
          for (let quiet = 0, last = ''; quiet < 8; ) {
            const now = await overdue(qd);
            if (now === 0) return true;
            const seen = `${now} ${qd.twilio.sent.length}`;
            quiet = seen === last ? quiet + 1 : 0;
            last = seen;
            await sleep(150);
          }
          await qd.clock.advance('31s');
          return false;
        },
        { withinMs: 90_000, everyMs: 100 },
      );
    },
    given: (title, kind) => qd.twilio.sent.filter((s) => s.kind === kind && new RegExp(`\\] ${title}\\b|${title}\\b`).test(s.text)).length,
    ledger: () =>
      qd.app.db.read(
        (tx) => rows(tx, PageRow)`
          select i.title, p.state, p.channel, p.attempts from oncall.page p join oncall.incident i on i.org_id = p.org_id and i.id = p.incident_id
           order by i.id, p.rule_index`,
      ),
    heldBack: async () => {
      const told = await qd.app.db.read(
        (tx) => rows(tx, HeldRow)`
          select i.title, sum((t.data ->> 'count')::int)::int as pages
            from oncall.timeline t join oncall.incident i on i.org_id = t.org_id and i.id = t.incident_id
           where t.kind = 'page_held_back' group by i.title`,
      );
      return new Map(told.map(({ title, pages }) => [title, pages]));
    },
  };
}

interface Rounds extends Pick<Force, 'isRevivedHere'> {
  rounds: number;
  /** Incidents of a round. */
  each: number;
}

/**
 * Rounds of alerts with a kill at a random moment of each, sometimes of both servers; then the ledger and the provider must agree. Where the
 * killed come back in the process of the test, there are two rounds: each server is killed once.
 */
export async function randomKills(t: TestContext, { rounds, each, isRevivedHere }: Rounds): Promise<void> {
  const { qd, chance, fire, kill, revive, calm, given, ledger, heldBack } = await campaign(
    t,
    [
      { channel: 'sms', delaySeconds: 0 },
      { channel: 'voice', delaySeconds: 600 },
    ],
    { servers: 2, isRevivedHere },
  );
  const acknowledged = new Set<string>();
  const titles: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const fresh = Array.from({ length: each }, (_, i) => `r${round}x${i}`);
    titles.push(...fresh);
    const firing = fire(fresh);
    await sleep(chance.below(600));
    const victim = isRevivedHere ? round : chance.below(2);
    await kill(victim);
    const both = !isRevivedHere && chance.below(3) === 0;
    if (both) await kill(1 - victim);
    revive(victim);
    if (both) revive(1 - victim);
    await firing;
    // Some are acknowledged while their pages go out.
    const { incidents } = await made(qd.owner.get('/oncall/incidents?status=open'));
    for (const incident of incidents.filter(() => chance.below(3) === 0)) {
      await made(qd.owner.post(`/oncall/incidents/${incident.id}/ack`));
      acknowledged.add(incident.title);
    }
    await calm();
  }
  await qd.clock.advance('11m');
  await calm();

  const book = await ledger();
  // Rounds that follow each other within a minute bring one person more calls than anybody gets in a minute: those are told, not lost.
  const held = await heldBack();
  for (const title of titles) {
    const pages = book.filter((p) => p.title === title);
    const story = `${title}: ${JSON.stringify(pages)}, messages ${given(title, 'message')}, calls ${given(title, 'call')}`;
    if (!acknowledged.has(title)) assert.equal(pages.length + (held.get(title) ?? 0), 2, `lost: ${story}`);
    for (const { channel, state } of pages) {
      const sent = given(title, channel === 'sms' ? 'message' : 'call');
      assert.ok(['sent', 'delivered', 'canceled'].includes(state), `not ended: ${story}`);
      assert.equal(sent, state === 'canceled' ? 0 : 1, `lost or doubled: ${story}`);
      if (!acknowledged.has(title)) assert.notEqual(state, 'canceled', story);
      if (acknowledged.has(title) && channel === 'voice') assert.equal(state, 'canceled', story);
    }
  }
  t.diagnostic(
    `${titles.length} incidents, ${acknowledged.size} acknowledged, ${qd.twilio.sent.length} pages with the provider, ${held.size} held back`,
  );
}
