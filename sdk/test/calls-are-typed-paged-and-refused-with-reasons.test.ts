import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck as server } from '../../test/harness/index.ts';
import { ApiError, type PersonalToken, quarterdeck } from '../index.ts';

test('a token is made, changed, listed in pages and deleted', async (t) => {
  const { url, owner } = await server(t);
  const api = quarterdeck({ url: `${url}/`, token: owner.key });

  const { id, key } = await api.tokens.createToken({ name: 'ci', scope: [{ role: 'uptime.viewer' }], expiresIn: 3600 });
  assert.match(key, /^qd_pat_/);
  const changed: PersonalToken = await api.tokens.updateToken(id, { enabled: false });
  assert.deepEqual([changed.enabled, changed.scope[0]?.role], [false, 'uptime.viewer']);
  for (const name of ['a', 'b', 'c']) await api.tokens.createToken({ name });

  const sizes: number[] = [];
  const names: string[] = [];
  for await (const { tokens } of api.tokens.listTokens.pages({ limit: 2 })) {
    sizes.push(tokens.length);
    names.push(...tokens.map((token) => token.name));
  }
  assert.deepEqual(names.slice(0, 4), ['c', 'b', 'a', 'ci']);
  assert.ok(sizes.slice(0, -1).every((size) => size === 2));
  assert.deepEqual(
    names,
    (await api.tokens.listTokens()).tokens.map((token) => token.name),
  );

  assert.equal(await api.tokens.deleteToken(id), undefined);
});

test('a refusal carries status, code, request id and sentence', async (t) => {
  const { url, owner } = await server(t);
  const api = quarterdeck({ url, token: owner.key });
  const refusal = async (act: Promise<unknown>): Promise<ApiError> => {
    const error = await act.then(
      () => undefined,
      (e: unknown) => e,
    );
    assert.ok(error instanceof ApiError, String(error));
    return error;
  };

  const unknown = await refusal(api.tokens.deleteToken('tok_nobody'));
  assert.deepEqual([unknown.status, unknown.code, unknown.message], [404, 'not_found', 'unknown token']);
  assert.match(unknown.requestId!, /^req_/);
  assert.equal((await refusal(api.tokens.createToken({ name: '' }))).status, 400);
  assert.equal((await refusal(quarterdeck({ url }).organization.getMe())).code, 'unauthenticated');
  // @ts-expect-error a field that the contract does not have
  assert.equal((await refusal(api.tokens.createToken({ name: 'x', colour: 'red' }))).status, 400);
});

test('what a path parameter holds stays one segment of the path', async (t) => {
  const { url, owner } = await server(t);
  const api = quarterdeck({ url, token: owner.key });
  await assert.rejects(api.tokens.deleteToken('../organization?x=#'), (e) => e instanceof ApiError && e.message === 'unknown token');
  for (const odd of ['', '.', '..']) await assert.rejects(api.tokens.deleteToken(odd), TypeError);
});
