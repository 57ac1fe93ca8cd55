import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { makeLog } from '../log.ts';

function logged(write: (log: ReturnType<typeof makeLog>) => void): Record<string, unknown> {
  const out = new PassThrough();
  write(makeLog('info', out));
  return JSON.parse(String(out.read()));
}

test('an error is logged with its words, its code and its causes, and nothing that hangs on it', () => {
  const cause = Object.assign(new Error('connection reset'), { code: 'ECONNRESET' });
  const error = Object.assign(new Error('the database cannot be reached', { cause }), {
    name: 'DatabaseAway',
    client: { connectionParameters: { password: 'hunter2' }, secretKey: 1234 },
  });
  const line = logged((log) => log.warn({ err: error }, 'lost'));
  assert.equal(line.msg, 'lost');
  const err = line.err as { type: string; message: string; stack: string; cause: { code: string; message: string } };
  assert.deepEqual(Object.keys(err).sort(), ['cause', 'message', 'stack', 'type']);
  assert.deepEqual([err.type, err.message], ['DatabaseAway', 'the database cannot be reached']);
  assert.deepEqual([err.cause.code, err.cause.message], ['ECONNRESET', 'connection reset']);
  assert.doesNotMatch(JSON.stringify(line), /hunter2|1234/);
});

test('credentials are hidden where they stand as fields', () => {
  const line = logged((log) =>
    log.info(
      {
        token: 'qd_pat_x',
        password: 'hunter2',
        headers: { authorization: 'Bearer qd_pat_x' },
        relay: { password: 'hunter2', key: 'k', secret: 's' },
      },
      'x',
    ),
  );
  assert.doesNotMatch(JSON.stringify(line), /qd_pat_x|hunter2/);
  assert.equal((line.headers as { authorization: string }).authorization, '(hidden)');
});
