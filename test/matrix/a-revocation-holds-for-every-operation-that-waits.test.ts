import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import Type from 'typebox';
import type { Credential } from '../../contract/common.ts';
import { hashKey } from '../../src/identity/token-format.ts';
import { row } from '../../src/kernel/db/index.ts';
import { type Wire, type WireAnswer, wire } from '../conformance/wire.ts';
import type { Someone } from '../harness/index.ts';
import { heldUpByOrganization, heldUpByToken, openRace, type Race } from '../harness/race.ts';
import { quarterdeckOutside } from './outside.ts';
import { type Kitchen, make, pathOf, type Thing } from './recipe.ts';
import { byToken, type Served, servedAreas } from './recipes/index.ts';
import { makeWorld, type World } from './world.ts';

interface Revocation {
  how: string;
  /** Begins it, with another token of the same person where only they can. */
  revoke(world: World, of: Someone, by: Someone): Promise<{ status: number }>;
  /** The row whose lock the test holds: the revocation has begun, and has not committed. */
  heldUpBy(of: Someone): readonly [string, readonly unknown[]];
  /** What the operation must answer; undefined: it is still allowed. */
  refusal(memberStatus: number): number | undefined;
}

const revocations: Revocation[] = [
  {
    how: 'the token is revoked',
    revoke: (_, of, by) => by.delete(`/tokens/${of.tokenId}`),
    heldUpBy: ({ tokenId }) => heldUpByToken(tokenId),
    refusal: () => 401,
  },
  {
    how: 'the token is disabled',
    revoke: (_, of, by) => by.patch(`/tokens/${of.tokenId}`, { enabled: false }),
    heldUpBy: ({ tokenId }) => heldUpByToken(tokenId),
    refusal: () => 401,
  },
  {
    how: 'the member is demoted',
    revoke: ({ home }, of) => home.patch(`/organization/members/${of.userId}`, { role: 'member' }),
    heldUpBy: ({ orgId }) => heldUpByOrganization(orgId),
    refusal: (memberStatus) => (memberStatus < 300 ? undefined : memberStatus),
  },
  {
    how: 'the member is removed',
    revoke: ({ home }, of) => home.delete(`/organization/members/${of.userId}`),
    heldUpBy: ({ orgId }) => heldUpByOrganization(orgId),
    refusal: () => 401,
  },
];

/** An operation, what a plain member is answered, and a thing for it: refused every time, so one serves all races. */
interface Entry extends Served {
  memberStatus: number;
  thing: Thing | undefined;
}

/** A request holds a connection while it waits, and an organization has only so many. */
const atOnce = 5;

test('what waits for its lock while its rights are revoked has no effect, whatever the operation', async (t) => {
  const world = await makeWorld(await quarterdeckOutside(t));
  const race = await openRace(world.qd.connection);
  t.after(race.close);
  const { send, close } = wire(world.qd.url);
  t.after(close);
  const entries = await prepare(world);
  for (const revocation of revocations) {
    await t.test(revocation.how, async () => {
      const due = entries.filter(({ memberStatus }) => revocation.refusal(memberStatus) !== undefined);
      for (let i = 0; i < due.length; i += atOnce) {
        const some = due.slice(i, i + atOnce);
        // Locks are waited for 3 s: on a busy machine the slowest request may come after that.
        for (let tries = 1; (await runRace(world, race, send, revocation, some)) === 'timed out'; tries++) assert.ok(tries < 4);
      }
    });
  }
});

/** Where the keys of machines are, and where they are revoked. */
const keyKinds: Record<Credential, { table: string; path: string } | 'only reads'> = {
  mail: { table: 'email.send_key', path: '/email/keys' },
  src: { table: 'oncall.alert_source', path: '/oncall/alert-sources' },
  scrape: 'only reads',
};

test('what waits for its lock while its key is revoked is refused, whatever the operation', async (t) => {
  const { qd, fakes, home, foreigner } = await makeWorld(await quarterdeckOutside(t));
  const race = await openRace(qd.connection);
  t.after(race.close);
  const { send, close } = wire(qd.url);
  t.after(close);
  const due = servedAreas().flatMap((area) => area.operations().filter(({ spec }) => spec.credential && spec.method !== 'GET'));
  assert.ok(due.length > 4);
  for (const { spec, recipe } of due) {
    const kind = keyKinds[spec.credential!];
    if (kind === 'only reads') assert.fail(`${spec.id} changes something with a key that only reads`);
    const kitchen: Kitchen = { qd, fakes, at: home, caller: home, foreigner };
    const thing = await make(recipe, kitchen);
    const key = await recipe.key!(kitchen, thing);
    const body = await recipe.body?.(kitchen, thing);
    const request = {
      method: spec.method,
      path: `/api/v1${pathOf(spec, thing?.params ?? {}, recipe.query?.(thing))}`,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const id = await race.find(`select id from ${kind.table} where hash = $1`, [hashKey(key)]);
    await race.hold(`select from ${kind.table} where id = $1 for update`, [id]);
    const revoked = home.delete(`${kind.path}/${id}`);
    await race.untilWaiting(1);
    let over = 0;
    const running = send(request).finally(() => over++);
    await race.untilWaiting(2, () => over);
    await race.release();
    assert.equal((await revoked).status, 204, spec.id);
    const { status, text } = await running;
    // A batch of mail waits for nobody: what comes while the key is being revoked is to be sent again.
    assert.ok(status === 401 || (status === 503 && spec.credential === 'mail'), `${spec.id} answered ${status} ${text}`);
  }
});

/** Every operation of the contract that a person's token can change something with. */
async function prepare({ qd, fakes, home, foreigner }: World): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const area of servedAreas()) {
    const matrix = await readFile(new URL(`./authorization/${area.name}.txt`, import.meta.url), 'utf8');
    for (const served of byToken(area)) {
      const { spec, recipe } = served;
      if (spec.method === 'GET' || spec.changesNothing || spec.permission === 'none') continue;
      const [, memberStatus] =
        new RegExp(`^${spec.id} +(?:own)? +\\| +\\d+\\+? +\\d+\\+? +(\\d+)`, 'm').exec(matrix) ?? assert.fail(spec.id);
      const thing = recipe.perCaller ? undefined : await make(recipe, { qd, fakes, at: home, caller: home, foreigner });
      entries.push({ ...served, memberStatus: Number(memberStatus), thing });
    }
  }
  return entries;
}

const CountRow = Type.Object({ effects: Type.Integer() });

type Send = (request: Wire) => Promise<WireAnswer>;

async function runRace(world: World, race: Race, send: Send, revocation: Revocation, entries: Entry[]): Promise<'judged' | 'timed out'> {
  const { qd, home } = world;
  const person = await qd.member(home, 'owner');
  const other = await qd.narrowed(person, []);
  const requests = await Promise.all(entries.map((entry) => requestOf(world, person, entry)));
  assert.equal((await person.get('/me')).status, 200); // remembered from here on

  await race.hold(...revocation.heldUpBy(person));
  const revoked = revocation.revoke(world, person, other);
  await race.untilWaiting(1);
  let over = 0;
  const early = new Set<string>();
  let isCommitted = false;
  const running = requests.map(async (request, i) => {
    const given = await send(request);
    over++;
    if (!isCommitted) early.add(entries[i]!.spec.id);
    return given;
  });
  await race.untilWaiting(1 + requests.length, () => over);
  isCommitted = true;
  await race.release();
  const { status } = await revoked;
  const answers = await Promise.all(running);
  if ([status, ...answers.map((given) => given.status)].some((each) => each === 502 || each === 503)) return 'timed out';
  assert.ok(status < 300, `the revocation answered ${status}`);
  const told = answers.map((given, i) => `${entries[i]!.spec.id} answered ${given.status} ${given.text.slice(0, 200)}`);
  assert.deepEqual([...early], [], `did not wait for the revocation under way: ${told.join('\n')}`);
  answers.forEach((given, i) => void assert.equal(given.status, revocation.refusal(entries[i]!.memberStatus), told[i]!));
  const { effects } = (await qd.app.db.read(
    (tx) => row(tx, CountRow)`select count(*)::int as effects from kernel.audit where token_id = ${person.tokenId}`,
  ))!;
  assert.equal(effects, 0, 'something is on record as done with the revoked token');
  return 'judged';
}

async function requestOf({ qd, fakes, home, foreigner }: World, person: Someone, { spec, recipe, thing }: Entry): Promise<Wire> {
  const kitchen: Kitchen = { qd, fakes, at: home, caller: person, foreigner };
  const named = recipe.perCaller ? await make(recipe, kitchen) : thing;
  const body = await recipe.body?.(kitchen, named);
  return {
    method: spec.method,
    path: `/api/v1${pathOf(spec, named?.params ?? {}, recipe.query?.(named))}`,
    headers: { authorization: `Bearer ${person.key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}
