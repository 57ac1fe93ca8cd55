import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bind } from '../call.ts';
import { quarterdeck, UnreachableError } from '../index.ts';
import { answering } from './servers.ts';

const fails = (act: Promise<unknown>, sentence: RegExp) =>
  assert.rejects(act, (e) => e instanceof UnreachableError && sentence.test(e.message));

test('a page instead of an answer is no Quarterdeck server', async (t) => {
  const url = await answering(t, (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello'));
  await fails(quarterdeck({ url }).organization.getMe(), /^what answers at http:\S+ is no Quarterdeck server; check the URL$/);
});

test('a redirect is not followed: the token would go with it', async (t) => {
  const reached: string[] = [];
  const elsewhere = await answering(t, (request, response) => {
    reached.push(request.url!);
    response.end();
  });
  const url = await answering(t, (_, response) => response.writeHead(307, { location: elsewhere }).end());
  await fails(quarterdeck({ url, token: 'secret', retries: 0 }).organization.getMe(), /^cannot reach .+ \(unexpected redirect\)/);
  assert.deepEqual(reached, []);
});

test('silence ends after the time limit, and at once when the caller has given up', async () => {
  let asked = 0;
  const silent: typeof fetch = (_, init) => {
    asked++;
    return new Promise((_, reject) => init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason)));
  };
  const url = 'http://127.0.0.1:8080';
  await fails(quarterdeck({ url, fetch: silent, timeoutMs: 20 }).organization.getMe(), /^http:\S+ did not answer within 0.02 s$/);
  assert.equal(asked, 1, 'what takes too long is not asked again');

  const gone = new AbortController();
  const call = quarterdeck({ url, fetch: silent }).organization.getMe({ signal: gone.signal });
  gone.abort(new Error('enough'));
  await assert.rejects(call, /^Error: enough$/);
});

test('an answer that is cut off is asked for again', async (t) => {
  let asked = 0;
  const url = await answering(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '14' });
    if (asked++ === 0) response.write('{"memb', () => response.destroy());
    else response.end('{"members":[]}');
  });
  assert.deepEqual(await quarterdeck({ url }).organization.listMembers(), { members: [] });
});

test('an answer that is not JSON comes as a stream, before it has ended', async (t) => {
  const url = await answering(t, (request, response) => {
    assert.equal(request.headers.accept, 'message/rfc822, application/json');
    response.writeHead(200, { 'content-type': 'message/rfc822' });
    response.write('Subject: hello\r\n');
  });
  const content = bind({ url, timeoutMs: 5_000 }, { method: 'GET', path: '/email/messages/{id}/content', streams: 'message/rfc822' });
  const answer = (await content('msg_1')) as Response;
  const first = await answer.body!.getReader().read();
  assert.equal(new TextDecoder().decode(first.value), 'Subject: hello\r\n');
});

test('bodies that are lists, absent or all optional are sent as the contract has them', async (t) => {
  const bodies: unknown[] = [];
  const url = await answering(t, async (request, response) => {
    const chunks = await request.toArray();
    bodies.push([request.headers['content-type'], Buffer.concat(chunks).toString()]);
    response.writeHead(204).end();
  });
  const post = (body: 'list' | 'optional' | 'object') => bind({ url }, { method: 'POST', path: '/x', query: ['q'], body });
  await post('list')({ body: [1], q: 2 });
  await post('optional')();
  await post('optional')({ a: 1, b: undefined });
  await post('object')({});
  assert.deepEqual(bodies, [
    ['application/json', '[1]'],
    [undefined, ''],
    ['application/json', '{"a":1}'],
    ['application/json', '{}'],
  ]);
});
