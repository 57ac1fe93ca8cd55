import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { covers, type Reach } from '../../rules/access.ts';
import { granted, parseScopes } from '../../rules/scope.ts';
import { parseChallenge } from '../../rules/www-authenticate.ts';

test('scopes are read as clients write them', () => {
  assert.deepEqual(parseScopes(['repository:a/b:push,pull']), [{ type: 'repository', name: 'a/b', actions: ['pull', 'push'] }]);
  assert.deepEqual(parseScopes(['repository:host:5000/a/b:pull']), [{ type: 'repository', name: 'host:5000/a/b', actions: ['pull'] }]);
  assert.deepEqual(parseScopes(['repository(plugin):a/b:*']), [{ type: 'repository', name: 'a/b', actions: ['pull', 'push', 'delete'] }]);
  assert.deepEqual(
    parseScopes(['repository:a/b:pull repository:a/b:delete', 'repository:a/c:pull']).map((s) => [s.name, s.actions]),
    [
      ['a/b', ['pull', 'delete']],
      ['a/c', ['pull']],
    ],
  );
  assert.deepEqual(
    parseScopes([
      '',
      ' ',
      ':',
      'repository',
      'repository:',
      'repository::',
      'repository:a',
      'repository:a:',
      'repository:a:fly',
      'other:a/b:pull',
    ]),
    [],
  );
});

const name = fc.array(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 4 }).map((p) => p.join('/'));

test('whatever is asked for, a token never carries more than the credential', () => {
  const scope = fc.record({
    slug: fc.constantFrom('one', 'two', 'three'),
    repository: name,
    actions: fc.subarray(['pull', 'push', 'delete', '*', 'fly'], { minLength: 1 }),
  });
  const reach = fc.record({ mode: fc.constantFrom<Reach['mode']>('pull', 'readwrite'), prefixes: fc.array(name, { maxLength: 2 }) });
  fc.assert(
    fc.property(fc.array(scope, { maxLength: 5 }), reach, reach, (asked, one, two) => {
      const registries = new Map<string, Reach>([
        ['one', { registryId: 'r1', ...one }],
        ['two', { registryId: 'r2', ...two }],
      ]);
      const grants = granted({ registries }, parseScopes(asked.map((s) => `repository:${s.slug}/${s.repository}:${s.actions.join(',')}`)));
      for (const [place, actions] of grants) {
        const held = registries.get(place.split('/')[0]!);
        assert.ok(held && covers(held.prefixes, place.slice(place.indexOf('/') + 1)));
        assert.ok(held.mode === 'readwrite' || [...actions].join() === 'pull');
        assert.ok(asked.some((s) => `${s.slug}/${s.repository}` === place));
      }
    }),
  );
});

test('challenges of the registries out there are understood', () => {
  const hub = 'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/alpine:pull"';
  assert.deepEqual(parseChallenge(hub), {
    scheme: 'bearer',
    realm: 'https://auth.docker.io/token',
    service: 'registry.docker.io',
    scope: 'repository:library/alpine:pull',
  });
  assert.deepEqual(parseChallenge('bearer realm=https://x/token , service="a\\"b, c"'), {
    scheme: 'bearer',
    realm: 'https://x/token',
    service: 'a"b, c',
    scope: undefined,
  });
  assert.deepEqual(parseChallenge('Basic realm="x", Bearer realm="https://x/token"'), {
    scheme: 'bearer',
    realm: 'https://x/token',
    service: undefined,
    scope: undefined,
  });
  assert.deepEqual(parseChallenge('Basic realm="Registry"'), { scheme: 'basic' });
  for (const none of [undefined, '', 'Negotiate', 'Bearer', 'Bearer service="x"', `Bearer realm="${'x'.repeat(9000)}"`])
    assert.equal(parseChallenge(none), undefined);
});

test('no challenge, however written, hangs or throws', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('Bearer ', 'Basic ', 'realm', '=', '"', '\\', ',', ' ', 'a') }),
      (header) => void parseChallenge(header),
    ),
  );
});
