import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { makeLog } from '../../src/kernel/log.ts';
import { makeLogFile } from '../../src/kernel/log-file.ts';
import { eventually } from '../../test/harness/process.ts';
import { exitCodes } from '../exit.ts';
import { follow, readLog } from '../where/log-files.ts';
import { runHere } from './cli-context.ts';

async function dataDirectory(t: TestContext): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), 'qdl-'));
  t.after(() => rm(data, { recursive: true, force: true }));
  return data;
}

test('the log of this machine is read by level, organization and age, and followed', async (t) => {
  const data = await dataDirectory(t);
  const logs = (...args: string[]) => runHere(['logs', ...args], { env: { QUARTERDECK_DATA: data } });
  const none = await logs();
  assert.equal(none.code, exitCodes.notFound);
  assert.match(none.stderr, /there is no log in \S+\/log: set QUARTERDECK_DATA .+another machine.+container/);

  const file = makeLogFile(data);
  const log = makeLog('info', { write: file.write } as never);
  log.info('before the directory is known');
  file.open();
  log.warn({ org: 'org_1' }, 'a tenant\u001b[31m was refused');
  log.error({ err: new Error('it broke') }, 'a part failed');
  file.flush();
  const { mode } = await stat(join(data, 'log', 'quarterdeck.log'));
  assert.equal(mode & 0o777, 0o600);

  const all = (await logs()).stdout;
  assert.match(all, /Z info {2}before the directory is known\n/);
  assert.match(all, /Z warn {2}a tenant\\x1b\[31m was refused {2}org=org_1\n/);
  assert.match(all, /Z error a part failed\n {4}Error: it broke\n {4} +at /);
  assert.doesNotMatch((await logs('--level', 'warn')).stdout, /before the directory/);
  assert.match((await logs('--org', 'org_1')).stdout, /^\S+ warn {2}a tenant[^\n]+\n$/);
  assert.equal((await logs('--org', 'org_2')).stdout, '');
  assert.equal((await logs('--since', '1h', '-n', '1', '--json')).stdout.split('\n').length, 2);
  assert.equal((await logs('--since', 'yesterday')).code, exitCodes.usage);

  const seen: string[] = [];
  const stop = new AbortController();
  const following = follow(join(data, 'log'), (await readLog(join(data, 'log'), () => {}))!, (line) => seen.push(line), stop.signal);
  log.info('one more');
  file.flush();
  await eventually(async () => seen.some((line) => line.includes('one more')));
  stop.abort();
  await following;
});

test('a line of the log stays one line, whatever a tenant put into it', async (t) => {
  const data = await dataDirectory(t);
  const logs = (...args: string[]) => runHere(['logs', ...args], { env: { QUARTERDECK_DATA: data } });
  const file = makeLogFile(data);
  const log = makeLog('info', { write: file.write } as never);
  file.open();
  for (const sign of ['\u2028', '\u2029', '\r', '\u0085']) log.error({ org: 'org_1', name: `a${sign}b` }, 'refused');
  file.write('{"level":"__proto__","time":"\\u001b[2J","msg":"of another program"}\n');
  file.flush();
  // A line that was on its way already is not waited for, and would come behind the half one.
  await eventually(async () => (await logs()).stdout.split('\n').length === 6);
  file.write('{"level":30,"msg":"half a li');
  file.flush();
  for (const filter of [
    ['--level', 'error'],
    ['--org', 'org_1'],
  ])
    assert.equal((await logs(...filter)).stdout.match(/ error refused {2}org=org_1/g)?.length, 4, filter.join(' '));
  const all = (await logs()).stdout;
  // The first line may have been on its way while those after it were flushed.
  assert.match(all, /^\\x1b\[2J __proto__ of another program$/m);
  assert.ok(all.endsWith('\n{"level":30,"msg":"half a li\n'), all);
  assert.equal(all.split('\n').length, 7);
});

test('who follows the log misses nothing at a rotation, and reads no line in halves', async (t) => {
  const dir = join(await dataDirectory(t), 'log');
  await mkdir(dir);
  const path = join(dir, 'quarterdeck.log');
  await writeFile(path, 'first\nsec');
  const seen: string[] = [];
  const end = (await readLog(dir, (line) => seen.push(line)))!;
  await appendFile(path, 'ond\nthird\n');
  await rename(path, join(dir, 'quarterdeck.1.log'));
  await writeFile(path, 'fourth\n');
  const stop = new AbortController();
  const following = follow(dir, end, (line) => seen.push(line), stop.signal);
  await eventually(async () => seen.includes('fourth'));
  stop.abort();
  await following;
  assert.deepEqual(seen, ['first', 'second', 'third', 'fourth']);
});

test('the files of the log are five, whatever is written, and a disk that refuses them stops no server', async (t) => {
  const data = await dataDirectory(t);
  const fileBytes = 1_000;
  const file = makeLogFile(data, { fileBytes });
  file.open();
  const names = () => readdirSync(join(data, 'log')).sort();
  for (let i = 0; i < 12; i++) {
    for (let j = 0; j < 11; j++) file.write(`${JSON.stringify({ level: 30, msg: 'x'.repeat(80), i })}\n`);
    await eventually(async () => names().includes('quarterdeck.log'));
  }
  assert.deepEqual(names(), ['quarterdeck.1.log', 'quarterdeck.2.log', 'quarterdeck.3.log', 'quarterdeck.4.log', 'quarterdeck.log']);
  const total = names().reduce((sum, name) => sum + statSync(join(data, 'log', name)).size, 0);
  assert.ok(total <= 5 * (fileBytes + 200) * 2, `${total} bytes`);

  // The folder is away for a while: the file that is still open does not grow meanwhile, and the log goes on when it is back.
  const away = await dataDirectory(t);
  const kept = makeLogFile(away, { fileBytes, retryMs: 100 });
  kept.open();
  await rename(join(away, 'log'), join(away, 'gone'));
  await writeFile(join(away, 'log'), 'not a folder');
  const line = `${JSON.stringify({ level: 30, msg: 'x'.repeat(80) })}\n`;
  for (let i = 0; i < 100; i++) {
    kept.write(line);
    await setTimeout(2);
  }
  const { size } = statSync(join(away, 'gone', 'quarterdeck.log'));
  assert.ok(size <= 3 * fileBytes, `${size} bytes`);
  await rm(join(away, 'log'));
  await eventually(async () => {
    kept.write(line);
    return readdirSync(away).includes('log');
  });

  // Lines that find no room, as on a full disk, move no older ones away.
  const full = await dataDirectory(t);
  const slow = makeLogFile(full, { fileBytes: 5_000, waitingBytes: 1_000 });
  slow.open();
  for (let i = 0; i < 100; i++) slow.write(line);
  slow.flush();
  assert.deepEqual(readdirSync(join(full, 'log')), ['quarterdeck.log']);
  assert.ok(statSync(join(full, 'log', 'quarterdeck.log')).size >= line.length);

  const refused = makeLogFile('/dev/null');
  refused.open();
  refused.write('a line\n');
});
