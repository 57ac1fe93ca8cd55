import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';
import { childrenOf, ordinaryEnv } from './a-parent.ts';

// bin/parent.mjs with servers of a few lines. `manner` says what goes wrong in which of them, by the number of its start.

const parentFile = pathToFileURL(join(import.meta.dirname, '..', '..', 'bin', 'parent.mjs')).href;

const server = `
import { createServer } from 'node:net';
const [number, port, manner] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const isNext = process.env.QUARTERDECK_BEFORE !== undefined;
const at = { name: 'door', host: '127.0.0.1', port, bound: port };
const id = 'door 127.0.0.1:' + port;
const say = (what) => console.log('server ' + number + ' ' + what);
let inherited;
const listener = createServer((socket) => socket.end('server ' + number));
process.on('message', (message, handle) => {
  if (message.type === 'socket') inherited = handle;
  if (message.type === 'go on') {
    say('goes on with ' + JSON.stringify(message.left) + ' after ' + message.endedBy);
    const listening = () => {
      if (inherited) process.send({ type: 'accepting', id });
      else process.send({ type: 'listening', id, at }, listener._handle);
      process.send({ type: 'ready', about: { data: '/nowhere', isEmbedded: true } });
    };
    if (inherited) listener.listen(inherited, listening);
    else listener.listen(port, '127.0.0.1', listening);
  }
  if (message.type === 'reloaded') say('is told ' + message.number + ' ' + message.isDone + ': ' + message.sentence);
  if (message.type === 'leave') {
    if (manner === 'stays') return say('stays');
    listener.close();
    process.send({ type: 'paused', id });
    const leave = () => process.send({ type: 'left', name: 'lease', value: number }, () => process.exit(0));
    if (manner !== 'leaves at a signal') return leave();
    process.once('SIGUSR1', leave);
    say('is leaving');
  }
});
process.on('SIGUSR2', () => process.send({ type: 'reload' }));
process.on('SIGTERM', () => process.exit(0));
say('loads');
process.send({ type: 'doing', what: 'thinking' });
if (manner === 'never loads') setInterval(() => {}, 1_000);
else if (manner === 'cannot load') throw new Error('deliberate: broken program');
else if (manner === 'says why') { process.send({ type: 'failed', why: 'the settings are wrong' }); process.exit(9); }
else if (manner === 'waits for a signal') process.once('SIGUSR1', () => process.send({ type: 'waiting', build: 'build ' + number }));
else process.send({ type: 'waiting', build: 'build ' + number });
`;

/** `manners`: of the first start, of the second, and so on. */
async function startSupervised(t: TestContext, manners: string[], given: { loadMs?: number; leaveMs?: number } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'qd-parent-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const port = await freePort();
  await writeFile(join(dir, 'server.mjs'), server);
  const supervisor = `
    import { superviseServer } from ${JSON.stringify(parentFile)};
    let number = 0;
    const manners = ${JSON.stringify(manners)};
    const program = async () => {
      const manner = manners[number++] ?? 'well';
      if (manner === 'is not found') throw new Error('there is no program');
      const argv = [${JSON.stringify(join(dir, 'server.mjs'))}, String(number), ${JSON.stringify(String(port))}, manner];
      return { node: process.execPath, argv0: 'server', argv, env: process.env };
    };
    await superviseServer({ program, cannotRun: (why) => { console.error(why); process.exit(10); }, unclaimedMs: 200, ...${JSON.stringify(given)} });`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', supervisor], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: ordinaryEnv(),
  });
  t.after(() => parent.kill('SIGKILL'));
  let said = '';
  for (const stream of [parent.stdout, parent.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const hears = (what: RegExp) =>
    eventually(async () => what.exec(said) ?? undefined).catch(() => assert.fail(`${what} was not said: ${said}`));
  const pidOf = async (number: number) => {
    await hears(new RegExp(`server ${number} loads`));
    return (await childrenOf(parent.pid!)).at(-1)!;
  };
  /** Which server answers. */
  const ask = async () => {
    const socket = connect(port, '127.0.0.1');
    const [answer] = await once(socket.setEncoding('utf8'), 'data');
    return answer as string;
  };
  const first = await pidOf(1);
  await eventually(ask);
  return {
    parent,
    first,
    hears,
    pidOf,
    ask,
    said: () => said,
    /** Asked by a server, whose words reach the parent in their order: it knows by then that the server is ready. */
    reload: (server = first) => void process.kill(server, 'SIGUSR2'),
    kill: (pid: number, signal: NodeJS.Signals = 'SIGKILL') => void process.kill(pid, signal),
    stopped: async () => {
      parent.kill('SIGTERM');
      return (await once(parent, 'exit')) as [number | null, string | null];
    },
  };
}

test('the next server goes on with the sockets and with what the one before left; a connection waits meanwhile', async (t) => {
  const at = await startSupervised(t, ['stays'], { leaveMs: 60_000 });
  at.reload();
  await at.hears(/server 1 stays/);
  at.reload();
  await at.hears(/quarterdeck: a reload is under way already/);
  // Stopped as a busy process is: what it left open waits in the kernel.
  at.kill(at.first, 'SIGSTOP');
  const waiting = at.ask();
  at.kill(at.first);
  assert.equal(await waiting, 'server 2');
  await at.hears(/quarterdeck: the server ended \(SIGKILL\) while it was being replaced; the next one goes on/);
  await at.hears(/server 2 goes on with \{\} after SIGKILL/);
  await at.hears(/server 2 is told 1 true: reload: build 1 was replaced by build 2; no connection waited longer than \d+\.\d\d s/);

  at.reload(await at.pidOf(2));
  await at.hears(/server 3 goes on with \{"lease":"2"\} after undefined/);
  await at.hears(/server 3 is told 2 true/);
  assert.equal(await at.ask(), 'server 3');
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('whatever keeps the next server from going on, the one before serves on and says why', async (t) => {
  const at = await startSupervised(t, ['well', 'cannot load', 'says why', 'is not found', 'waits for a signal']);
  const offs = [
    /server 1 is told 1 false: the reload was called off: the next server ended with exit code 1; what it said is on its standard error; build 1 goes on/,
    /server 1 is told 2 false: the reload was called off: the settings are wrong; build 1 goes on/,
    /server 1 is told 3 false: the reload was called off: there is no program; build 1 goes on/,
  ];
  for (const off of offs) {
    at.reload();
    await at.hears(off);
    assert.equal(await at.ask(), 'server 1');
  }
  at.reload();
  at.kill(await at.pidOf(5));
  await at.hears(/server 1 is told 4 false: the reload was called off: the next server ended with SIGKILL/);
  assert.equal(await at.ask(), 'server 1');
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('a next server that never gets ready is killed, and the one before serves on', async (t) => {
  // Long enough for it to say what it does, on a busy machine too.
  const at = await startSupervised(t, ['well', 'never loads'], { loadMs: 5_000 });
  at.reload();
  await at.hears(
    /server 1 is told 1 false: the reload was called off: it was not ready within 5 s, and was still thinking; build 1 goes on/,
  );
  assert.equal(await at.ask(), 'server 1');
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('a server that does not leave is killed', async (t) => {
  const at = await startSupervised(t, ['stays'], { leaveMs: 300 });
  at.reload();
  await at.hears(/server 2 is told 1 true/);
  assert.equal(await at.ask(), 'server 2');
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('a server that has left, and whose successor is gone, is followed by another', async (t) => {
  const at = await startSupervised(t, ['leaves at a signal']);
  at.reload();
  const second = await at.pidOf(2);
  await at.hears(/server 1 is leaving/);
  const waiting = at.ask();
  at.kill(second);
  await at.hears(/quarterdeck: the next server is gone \(the next server ended with SIGKILL; .*\); another one follows/);
  at.kill(at.first, 'SIGUSR1');
  assert.equal(await waiting, 'server 3');
  await at.hears(/server 3 is told 1 true: reload: build 1 was replaced by build 3/);
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('a server that crashes while the next one loads is followed by it, or by a restart if that fails too', async (t) => {
  const at = await startSupervised(t, ['well', 'waits for a signal', 'waits for a signal']);
  at.reload();
  const second = await at.pidOf(2);
  at.kill(at.first, 'SIGABRT');
  await at.hears(/the server ended \(SIGABRT, as a full JavaScript heap does\) while it was being replaced/);
  const waiting = at.ask();
  at.kill(second, 'SIGUSR1');
  assert.equal(await waiting, 'server 2');

  await at.hears(/server 2 is told 1 true/);
  at.reload(second);
  const third = await at.pidOf(3);
  at.kill(second);
  await at.hears(/the server ended \(SIGKILL\) while it was being replaced/);
  at.kill(third);
  await at.hears(/the reload was called off: the next server ended with SIGKILL; .*; the server before has crashed meanwhile/);
  await at.hears(/the server crashed \(SIGKILL\); starting it again/);
  await at.hears(/server 4 goes on with \{\} after SIGKILL/);
  assert.equal(await at.ask(), 'server 4');
  assert.deepEqual(await at.stopped(), [0, null]);
});

test('a stop, or the end of the parent, ends both servers', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const at = await startSupervised(t, ['well', 'waits for a signal']);
    at.reload();
    const second = await at.pidOf(2);
    const closed = once(at.parent, 'close');
    at.parent.kill(signal);
    await once(at.parent, 'exit');
    // Servers end with their parent by themselves (src/boot/parent.ts); these are too small for that.
    const isGone = (pid: number) => {
      try {
        process.kill(pid, signal === 'SIGKILL' ? 'SIGKILL' : 0);
        return false;
      } catch {
        return true;
      }
    };
    for (const pid of [at.first, second]) await eventually(async () => isGone(pid));
    await closed;
  }
});
