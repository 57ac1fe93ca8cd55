import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../index.ts';
import { answering } from './servers.ts';

test('a token that cannot stand in a header is refused without repeating it', async (t) => {
  const arrived: (string | undefined)[] = [];
  const url = await answering(t, (request, response) => {
    arrived.push(request.headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  for (const token of ['qd_pat_hun\nter2', 'qd_pat_hun\u0000ter2', 'qd_pat_hun…ter2'])
    await assert.rejects(
      quarterdeck({ url, token }).organization.getMe(),
      (e: Error) => e instanceof TypeError && /has a character that no token has/.test(e.message) && !e.message.includes('ter2'),
    );
  assert.deepEqual(arrived, []);

  await quarterdeck({ url, token: 'qd_pat_x\n' }).organization.getMe();
  assert.deepEqual(arrived, ['Bearer qd_pat_x'], 'the end of a line around it is none of it');
});
