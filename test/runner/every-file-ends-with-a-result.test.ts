import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { runFiles } from './pool.ts';
import type { Told } from './told.ts';

/** Runs files of these contents one after the other and gathers what is told of each. */
async function planted(t: TestContext, contents: Record<string, string>, timeoutMs = 60_000) {
  const folder = await mkdtemp(join(tmpdir(), 'qdr-'));
  t.after(() => rm(folder, { recursive: true }));
  const names = Object.keys(contents);
  await Promise.all(names.map((name) => writeFile(join(folder, `${name}.mjs`), contents[name]!)));
  const told: Told[] = [];
  const files = names.map((name) => join(folder, `${name}.mjs`));
  await runFiles({
    files,
    lanes: 1,
    isEachAlone: false,
    timeoutMs,
    goneWithinMs: 1_000,
    env: {},
    stop: t.signal,
    tell: (each) => told.push(each),
  });
  const of = (name: string) => told.filter(({ file }) => file === join(folder, `${name}.mjs`));
  return {
    passed: (name: string) => of(name).flatMap((each) => (each.type === 'passed' ? [each.name] : [])),
    failed: (name: string) =>
      of(name).flatMap((each) => (each.type === 'failed' ? [`${each.name.replace(/.*\//, '')}: ${each.error}`] : [])),
  };
}

const imports = `import test, { after, afterEach } from 'node:test'; import assert from 'node:assert/strict';`;
const sound = (more = '') => `${imports} test('a sound one', () => { ${more} });`;
const pid = 'assert.equal(globalThis.first ??= process.pid, process.pid); globalThis.count = (globalThis.count ?? 0) + 1;';

// Side by side: most of it is waiting.
suite('every file ends with a result', { concurrency: true }, () => {
  test('files share a process, and a failure is told with its name and its place', async (t) => {
    const { passed, failed } = await planted(t, {
      one: sound(pid),
      two: sound(`${pid} assert.equal(globalThis.count, 2);`),
      own: `// alone: it says so\n${sound('assert.equal(globalThis.count, undefined);')}`,
      fails: `${imports} test('a wrong one', async (t) => { await t.test('part of it', () => assert.equal(1, 2)); }); test('a right one', () => {});`,
      unreadable: 'this is no program',
      hooked: `${imports} after(() => { throw new Error('the hook fails'); }); test('before the hook', () => {});`,
      last: sound('assert.equal(globalThis.count, undefined);'),
    });
    for (const name of ['one', 'two', 'own', 'last']) assert.deepEqual([passed(name), failed(name)], [['a sound one'], []], name);
    assert.deepEqual(passed('fails'), ['a right one']);
    assert.match(failed('fails').join('\n'), /^part of it: AssertionError[\s\S]*1 !== 2[\s\S]*fails\.mjs:1:[\s\S]*a wrong one: /);
    assert.match(failed('unreadable').join('\n'), /^unreadable\.mjs: SyntaxError/);
    assert.match(failed('hooked').join('\n'), /^hooked\.mjs: Error: the hook fails/);
  });

  test('a file that ends its process has failed, and those after it run in another', async (t) => {
    const { passed, failed } = await planted(t, {
      before: sound(),
      exits: `${imports} test('the first', () => {}); test('the second', () => process.exit(0)); test('the third', () => {});`,
      between: sound(),
      waits: `${imports} test('for nothing', () => new Promise(() => {}));`,
      killed: `${imports} test('it is killed', () => process.kill(process.pid, 'SIGKILL'));`,
      leaves: sound(`process.prependOnceListener('message', () => process.exit(0));`),
      silent: imports,
      after: sound(),
    });
    for (const name of ['before', 'between', 'after']) assert.deepEqual([passed(name), failed(name)], [['a sound one'], []], name);
    assert.match(failed('exits').join(), /^exits\.mjs: its process ended with code 0.*; it had run \S*before\.mjs/);
    assert.match(failed('waits').join(), /event loop has already resolved|its process ended with/);
    assert.match(failed('killed').join(), /^killed\.mjs: its process ended with SIGKILL/);
    assert.match(failed('leaves').join(), /^leaves\.mjs: its process ended with code 0/, 'not the next file, which had not begun');
    assert.deepEqual(failed('silent'), ['silent.mjs: it reported no test']);
  });

  test('what hangs is ended, whether it waits or never lets go', async (t) => {
    const waits = `${imports} test('a long wait', async () => { const timer = setInterval(() => {}, 1000); try { await new Promise(() => {}); } finally { clearInterval(timer); } });`;
    const holds = `${imports} test('no turn for others', () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));`;
    const both = [planted(t, { waits, sound: sound() }, 3_000), planted(t, { holds, sound: sound() }, 3_000)];
    for (const { passed, failed } of await Promise.all(both)) assert.deepEqual([passed('sound'), failed('sound')], [['a sound one'], []]);
    const [waiting, holding] = await Promise.all(both);
    assert.match(waiting!.failed('waits').join(), /a long wait: test timed out after 3000ms/);
    assert.match(holding!.failed('holds').join(), /^holds\.mjs: its process was silent for 4\.5 s and was killed/);
  });

  test('what an ended file has made is garbage', async (t) => {
    const keeps = `${imports} let made = { of: 'this file' }; globalThis.ref = new WeakRef(made);
      test('it keeps something', async (t) => { const it = made; made = undefined; t.after(() => void it); await t.test('also in a part', () => void it); });`;
    const asks = sound(`require('node:v8').setFlagsFromString('--expose-gc'); require('node:vm').runInNewContext('gc')();
      assert.equal(globalThis.ref.deref(), undefined);`);
    const { passed, failed } = await planted(t, {
      keeps,
      asks: `import { createRequire } from 'node:module'; const require = createRequire('/'); ${asks}`,
    });
    assert.deepEqual([failed('keeps'), failed('asks')], [[], []]);
    assert.deepEqual(passed('asks'), ['a sound one']);
  });

  test('a file may await something before it declares its tests', async (t) => {
    const awaits = `${imports} import { setTimeout as sleep } from 'node:timers/promises'; await sleep(1); test('a sound one', () => {});`;
    const { passed, failed } = await planted(t, { awaits, sound: sound() });
    for (const name of ['awaits', 'sound']) assert.deepEqual([passed(name), failed(name)], [['a sound one'], []], name);
  });

  test('what a file leaves behind is found, and the next file does not meet it', async (t) => {
    const { passed, failed } = await planted(t, {
      server: `import net from 'node:net'; ${sound()} net.createServer().listen(0);`,
      timer: sound('setInterval(() => {}, 1000);'),
      late: sound(`setTimeout(() => { throw new Error('too late'); }, 100);`),
      beside: `${imports} test('a sound one', async () => { setTimeout(() => { throw new Error('unseen'); }); await new Promise((next) => setTimeout(next, 50)); });`,
      unheard: sound(`void Promise.reject(new Error('unheard'));`),
      environment: sound(`process.env.QD_PLANTED = 'yes';`),
      clock: sound('performance.now = () => 0;'),
      hook: `${imports} globalThis.hooks = 0; afterEach(() => globalThis.hooks++); test('a sound one', () => {});`,
      sound: sound('assert.equal(process.env.QD_PLANTED, undefined);'),
      again: sound('assert.notEqual(globalThis.hooks, 2);'),
    });
    for (const name of ['hook', 'sound', 'again']) assert.deepEqual([passed(name), failed(name)], [['a sound one'], []], name);
    assert.match(failed('server').join(), /^server\.mjs: it left behind: TCPServerWrap$/);
    assert.match(failed('timer').join(), /^timer\.mjs: it left behind: Timeout$/);
    assert.match(failed('late').join(), /^late\.mjs: something failed that no test waited for: Error: too late/);
    assert.match(failed('beside').join(), /^beside\.mjs: something failed that no test waited for: Error: unseen/);
    assert.match(failed('unheard').join(), /^unheard\.mjs: something failed that no test waited for: Error: unheard/);
    assert.match(failed('environment').join(), /^environment\.mjs: it left behind: QD_PLANTED=yes in the environment$/);
    assert.match(failed('clock').join(), /^clock\.mjs: it left behind: another performance\.now$/);
  });
});
