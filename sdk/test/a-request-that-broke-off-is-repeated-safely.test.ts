import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck as server } from '../../test/harness/index.ts';
import { type Api, ApiError, quarterdeck, UnreachableError } from '../index.ts';
import { answering, brittleLink } from './servers.ts';

test('a POST whose answer was lost is asked again and done once', async (t) => {
  const { url, owner } = await server(t);
  const link = await brittleLink(t, url);
  const api = quarterdeck({ url: link.url, token: owner.key });

  link.loseAnswers(2);
  const made = await api.uptime.createUptimeService({ name: 'web' });
  assert.equal(link.seen.length, 3);
  assert.deepEqual(
    (await api.uptime.listUptimeServices()).services.map((s) => s.id),
    [made.id],
  );
});

test('a secret that was lost on the way is not made twice: the answer names what was made', async (t) => {
  const { url, owner } = await server(t);
  const link = await brittleLink(t, url);
  const api = quarterdeck({ url: link.url, token: owner.key });

  link.loseAnswers(1);
  const error = await api.tokens.createToken({ name: 'lost' }).then(
    () => undefined,
    (e: ApiError) => e,
  );
  assert.deepEqual([error?.status, error?.code], [409, 'idempotency_secret']);
  const lost = (await api.tokens.listTokens()).tokens.filter((token) => token.name === 'lost');
  assert.equal(lost.length, 1);
  assert.ok(error!.message.includes(lost[0]!.id));
});

test('two calls are two, even with the same input; one key makes them one', async (t) => {
  const { url, owner } = await server(t);
  const api = quarterdeck({ url, token: owner.key });
  const ids = [await api.tokens.createToken({ name: 'ci' }), await api.tokens.createToken({ name: 'ci' })].map((token) => token.id);
  assert.notEqual(ids[0], ids[1]);

  const role = { name: 'reader', permissions: ['uptime.monitor.read'] };
  const first = await api.iam.createRole(role, { idempotencyKey: 'once' });
  assert.deepEqual(await api.iam.createRole(role, { idempotencyKey: 'once' }), first);
  await assert.rejects(api.iam.createRole(role), (e) => e instanceof ApiError && e.status === 409 && e.code === 'conflict');
});

test('a DELETE that broke off is not repeated: it may have been done', async (t) => {
  const { url, owner } = await server(t);
  const link = await brittleLink(t, url);
  const api = quarterdeck({ url: link.url, token: owner.key });
  const { id } = await api.tokens.createToken({ name: 'x' });

  link.loseAnswers(1);
  await assert.rejects(api.tokens.deleteToken(id), UnreachableError);
  assert.deepEqual(link.seen.slice(1), [`DELETE /api/v1/tokens/${id}`]);
});

test('a server that is unable for a moment is asked again after the time it names, one that asks for patience is not', async (t) => {
  let asked = 0;
  const refusing = (status: number, retryAfter: string, times: number) =>
    answering(t, (_, response) => {
      if (asked++ < times)
        response
          .writeHead(status, { 'retry-after': retryAfter, 'x-error-code': 'busy', 'content-type': 'application/json' })
          .end('{"error":"later"}');
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"members":[]}');
    });
  const tries = async (url: Promise<string>, act = (api: Api): Promise<unknown> => api.organization.listMembers()) => {
    asked = 0;
    const outcome = await act(quarterdeck({ url: await url, token: 'x' })).then(
      () => 'ok',
      (e: ApiError) => e,
    );
    return { outcome, asked };
  };

  assert.deepEqual(await tries(refusing(503, '0', 2)), { outcome: 'ok', asked: 3 });
  assert.deepEqual(await tries(refusing(429, '0', 1)), { outcome: 'ok', asked: 2 });
  const patience = await tries(refusing(429, '42', 1));
  assert.deepEqual([patience.asked, (patience.outcome as ApiError).status, (patience.outcome as ApiError).retryAfter], [1, 429, 42]);
  const forever = await tries(refusing(503, '0', 99));
  assert.deepEqual([forever.asked, (forever.outcome as ApiError).code], [3, 'busy']);
  assert.equal((await tries(refusing(404, '0', 1))).asked, 1);
  assert.equal((await tries(refusing(503, '0', 1), (api) => api.tokens.deleteToken('tok_1'))).asked, 1);
});
