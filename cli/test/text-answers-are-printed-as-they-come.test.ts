import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const printed = (body: string, shell = '"$@"') => {
  const script = `import { printStream } from '${new URL('../print.ts', import.meta.url)}';
    await printStream(new Response(${body})).catch((e) => { console.error(e.message); process.exitCode = e.exitCode; });`;
  const { status, stdout, stderr } = spawnSync('bash', ['-c', shell, 'bash', process.execPath, '--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('a text answer is printed byte for byte', () => {
  assert.deepEqual(printed(`'BEGIN:VCALENDAR\\r\\n'`), { status: 0, stdout: 'BEGIN:VCALENDAR\r\n', stderr: '' });
  assert.deepEqual(printed('null'), { status: 0, stdout: '', stderr: '' });
});

test('one that breaks off is not passed for a whole one', () => {
  const broken = `ReadableStream.from((async function* () { yield new TextEncoder().encode('half'); await new Promise(setImmediate); throw new Error('reset'); })())`;
  assert.deepEqual(printed(broken), { status: 25, stdout: 'half', stderr: 'the answer broke off: what was printed is not all of it\n' });
});

test('a reader that has seen enough is no failure', () => {
  const endless = `new ReadableStream({ pull(c) { c.enqueue(new TextEncoder().encode('line\\n'.repeat(1000))); } })`;
  assert.deepEqual(printed(endless, 'set -o pipefail; "$@" | head -1'), { status: 0, stdout: 'line\n', stderr: '' });
});
