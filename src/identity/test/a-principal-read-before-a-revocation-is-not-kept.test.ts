import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCaches } from '../../kernel/cache.ts';
import type { Db, Tx } from '../../kernel/db/index.ts';
import { fakeListener, later } from '../../kernel/test/fake-listener.ts';
import { type Loaded, makePrincipals, type Principal } from '../principal.ts';
import { type Kind, mintKey } from '../token-format.ts';

// The truth is a variable; `db.read` is the real order of events: it reads, pauses as long as the test says, and answers.

const pat: ReadonlySet<Kind> = new Set(['pat']);
const live = (id: string): Loaded => ({
  principal: { id, org: { id: 'org_1', slug: 'default' }, entitlements: new Set(), grants: new Map(), scopes: [], customRoles: {} },
  ttlMs: 86_400_000,
  topics: [`credential ${id}`],
});

function world() {
  const fake = fakeListener();
  let truth: Loaded | undefined = live('tok_1');
  let pause: Promise<unknown> = Promise.resolve();
  let reads = 0;
  const db = { read: <T>(work: (tx: Tx) => Promise<T>) => work({} as Tx) } as Db;
  const principals = makePrincipals(db, makeCaches(fake.listener), {
    pat: async () => {
      reads++;
      const found = truth;
      await pause;
      return found;
    },
  });
  const { key } = mintKey('pat');
  return {
    fake,
    key,
    find: (given = key, accept = pat) => principals.find(given, accept),
    ask: async () => principals.find(key, pat),
    becomes: (next: Loaded | undefined) => (truth = next),
    pauseUntil: (until: Promise<unknown>) => (pause = until),
    reads: () => reads,
  };
}

test('a fill that read the old truth before a revocation is not kept', async () => {
  const { fake, ask, becomes, pauseUntil, reads } = world();
  const gate = later<void>();
  pauseUntil(gate.promise);
  const slow = ask(); // has read: the token is good

  becomes(undefined); // deleted and committed elsewhere …
  fake.drop('credential tok_1'); // … and the word of it arrives while the answer is still on its way
  pauseUntil(Promise.resolve());
  assert.equal(await ask(), undefined); // asked after it: never joins the slow one
  gate.resolve();
  await slow;
  assert.equal(await ask(), undefined);
  assert.equal(reads(), 2); // the refusal is remembered, the old truth is not
});

test('hot is one look and no statement, without a turn of the event loop', async () => {
  const { find, ask, reads } = world();
  const first = await ask();
  assert.equal(first?.id, 'tok_1');
  const again = find();
  assert.ok(!(again instanceof Promise));
  assert.equal(again, first);
  assert.equal(reads(), 1);
});

test('those who wait for one key share one statement', async () => {
  const { ask, reads } = world();
  await Promise.all([ask(), ask(), ask()]);
  assert.equal(reads(), 1);
});

test('made-up keys and keys of other kinds cost no statement', () => {
  const { find, reads } = world();
  for (const key of ['', 'x', 'qd_pat_', `${mintKey('pat').key}x`, mintKey('reg').key]) assert.equal(find(key), undefined);
  assert.equal(find(mintKey('reg').key, new Set<Kind>(['reg'])), undefined); // nobody here loads that kind
  assert.equal(reads(), 0);
});

test('unknown keys are remembered for a moment, disabled ones until they change', async () => {
  const { fake, ask, becomes, reads } = world();
  becomes({ principal: undefined, ttlMs: 0, topics: ['credential tok_1'] });
  assert.equal(await ask(), undefined);
  assert.equal(await ask(), undefined);
  assert.equal(reads(), 1);
  becomes(live('tok_1'));
  fake.drop('credential tok_1');
  assert.equal((await ask())?.id, 'tok_1');
});

test('a principal ends when its token does, without anybody telling', async (t) => {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const { ask, becomes, reads } = world();
  becomes({ ...live('tok_1'), ttlMs: 50 });
  assert.ok(await ask());
  becomes({ ...live('tok_1'), ttlMs: -1 });
  now += 49;
  assert.ok(await ask());
  now += 1;
  assert.equal(await ask(), undefined);
  assert.equal(reads(), 2);
});

test('the holder of an open connection is told when its principal may have changed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { fake, ask } = world();
  const held = (await ask()) as Principal;
  assert.equal(held.signal.aborted, false);
  const told = () => Promise.resolve(); // in a turn of its own, which comes before the one that waits for it here
  fake.drop('credential tok_2');
  await told();
  assert.equal(held.signal.aborted, false);
  fake.drop('credential tok_1');
  await told();
  assert.equal(held.signal.aborted, true);

  const next = (await ask()) as Principal;
  fake.become(false); // deaf: nobody would be told any more
  await told();
  assert.equal(next.signal.aborted, true);
  const deaf = (await ask()) as Principal;
  assert.equal(deaf.signal.aborted, false);
  t.mock.timers.tick(1_000);
  assert.equal(deaf.signal.aborted, true);
});
