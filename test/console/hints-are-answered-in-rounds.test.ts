import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { makeRounds } from '../../console/data/rounds.ts';
import { toldIn } from '../../console/data/told.ts';

test('twenty hints a second for half a minute ask a dozen times, and the last one is answered', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked: (readonly string[] | 'all')[] = [];
  const hint = makeRounds({
    ask: async (kinds) => {
      asked.push(kinds);
    },
    isHeld: () => false,
  });
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 50) {
      t.mock.timers.tick(50);
      await turn();
    }
  };
  for (let count = 0; count < 600; count++) {
    hint(['uptime.monitor', ...(count === 599 ? ['oncall.incident'] : [])]);
    await pass(50);
  }
  assert.ok(asked.length > 5 && asked.length <= 12, `${asked.length} rounds`);
  await pass(5_000);
  assert.ok(asked.at(-1)!.includes('oncall.incident'));

  // After a quiet while, the next hint is answered at once.
  await pass(10_000);
  const before = asked.length;
  hint(['email.domain']);
  await pass(150);
  assert.deepEqual(asked.slice(before), [['email.domain']]);
});

test('hints wait while they are held, and no round overtakes another', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isHeld = true;
  let end = () => {};
  const asked: unknown[] = [];
  const hint = makeRounds({
    ask: (kinds) => {
      asked.push(kinds);
      return new Promise((resolve) => {
        end = resolve;
      });
    },
    isHeld: () => isHeld,
  });
  const pass = async (times: number) => {
    for (let at = 0; at < times; at++) {
      t.mock.timers.tick(100);
      await turn();
    }
  };
  hint(['a.b']);
  hint('all');
  hint(['c.d']);
  await pass(10);
  assert.deepEqual(asked, []);
  isHeld = false;
  await pass(1);
  assert.deepEqual(asked, ['all']);
  hint(['a.b']);
  await pass(20);
  assert.equal(asked.length, 1, 'the first round is still under way');
  end();
  await pass(10);
  assert.deepEqual(asked, ['all', ['a.b']]);
});

test('what a tab of another release says is heard as far as it is understood', () => {
  for (const data of [null, undefined, 7, 'x', [], { kinds: 5 }, { kinds: { length: 1 } }, { liveness: 'odd' }, { version: '' }])
    assert.deepEqual(toldIn(data), {});
  assert.deepEqual(toldIn({ kinds: ['a.b', 7], liveness: 'live', version: '2', more: 1 }), {
    kinds: ['a.b'],
    liveness: 'live',
    version: '2',
  });
  assert.deepEqual(toldIn({ kinds: 'all', asks: true }), { kinds: 'all', asks: true });
});
