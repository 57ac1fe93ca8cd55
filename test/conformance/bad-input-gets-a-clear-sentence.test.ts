import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../harness/index.ts';
import { refusal } from './judge.ts';
import { type Wire, wire } from './wire.ts';

type Row = [what: string, request: Partial<Request> & { path: string }, status: number, sentence: string];
interface Request {
  method: string;
  path: string;
  body: string | Buffer;
  headers: Record<string, string>;
}

test('bad input gets a clear sentence', async (t) => {
  const qd = await quarterdeck(t);
  const { send, close } = wire(qd.url);
  t.after(close);
  const foreigner = await qd.organization('foreigners');
  const shop = (await qd.owner.post('/uptime/services', { name: 'shop' })).body.id as string;
  const theirs = (await foreigner.post('/uptime/services', { name: 'theirs' })).body.id as string;

  const post = (body: unknown, path = '/tokens') => ({ method: 'POST', path, body: JSON.stringify(body) });
  const bytes = (body: string | Buffer, headers = {}) => ({ method: 'POST', path: '/tokens', body, headers });
  const service = (id: string) => ({ method: 'PATCH', path: `/uptime/services/${id}`, body: '{"name":"x"}' });
  const scope = (entry: object) => post({ name: 'x', scope: [entry] });

  // biome-ignore format: one row a line
  const table: Row[] = [
    // The body as bytes
    ['JSON that is cut off', bytes('{"name":'), 400, 'the body is not valid JSON'],
    ['no JSON at all', bytes('name=x'), 400, 'the body is not valid JSON'],
    ['invalid UTF-8', bytes(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 400, 'the body is not valid JSON'],
    ['UTF-16', bytes(Buffer.from('{"name":"x"}', 'utf16le')), 400, 'the body is not valid JSON'],
    ['no body', { method: 'POST', path: '/tokens' }, 400, 'the body must be an object; none was sent'],
    ['an empty body', bytes(''), 400, 'the body must be an object; none was sent'],
    ['too large a body', bytes(Buffer.alloc(1_048_577, ' ')), 413, 'the body is larger than 1048576 bytes'],
    ['a body nested too deeply', bytes(`{"name":${'['.repeat(5000)}${']'.repeat(5000)}}`), 400, 'the body is nested too deeply'],
    ['another content type', bytes('{"name":"x"}', { 'content-type': 'text/plain' }), 415, 'the body must be JSON: send Content-Type: application/json'],
    ['a form', bytes('name=x', { 'content-type': 'application/x-www-form-urlencoded' }), 415, 'the body must be JSON: send Content-Type: application/json'],
    ['a malformed content type', bytes('{"name":"x"}', { 'content-type': 'json' }), 415, 'the body must be JSON: send Content-Type: application/json'],
    ['an empty content type', bytes('{"name":"x"}', { 'content-type': '' }), 415, 'the body must be JSON: send Content-Type: application/json'],
    ['a compressed body', bytes('{"name":"x"}', { 'content-encoding': 'gzip' }), 415, 'the body must not be compressed: send it without Content-Encoding'],
    ['a body where none belongs', { method: 'DELETE', path: `/uptime/services/${shop}`, body: '{"x":1}' }, 400, 'this operation takes no body; send it without one, or with {}'],

    // The body as JSON
    ['a list for an object', post([]), 400, 'the body must be an object'],
    ['null for an object', post(null), 400, 'the body must be an object'],
    ['text for an object', post('name'), 400, 'the body must be an object'],
    ['a number for text', post({ name: 5 }), 400, 'name must be a string'],
    ['null for text', { method: 'PATCH', path: `/tokens/${qd.owner.tokenId}`, body: '{"name":null}' }, 400, 'name must be a string'],
    ['text for a number', post({ name: 'x', expiresIn: '60' }), 400, 'expiresIn must be an integer'],
    ['a fraction', post({ name: 'x', expiresIn: 60.5 }), 400, 'expiresIn must be an integer'],
    ['too small a number', post({ name: 'x', expiresIn: 59 }), 400, 'expiresIn must be at least 60'],
    ['too large a number', post({ name: 'x', expiresIn: 1e300 }), 400, 'expiresIn must be at most 31622400'],
    ['text for a switch', { method: 'PATCH', path: `/tokens/${qd.owner.tokenId}`, body: '{"enabled":"no"}' }, 400, 'enabled must be a boolean'],
    ['an unknown field', post({ name: 'x', nmae: 'y' }), 400, 'nmae is not a known field here'],
    ['an unknown field inside', scope({ role: 'owner', id: 1 }), 400, 'scope.0.id is not a known field here'],
    ['a field named __proto__', bytes('{"name":"x","__proto__":{"admin":true}}'), 400, '__proto__ is not a known field here'],
    ['a missing field', post({}), 400, 'name is required'],
    ['a missing field inside', scope({}), 400, 'scope.0.role is required'],
    ['nothing but spaces', post({ name: ' \t\u2003 ' }), 400, 'name must not be empty'],
    ['too long a text', post({ name: 'x'.repeat(101) }), 400, 'name must have at most 100 characters'],
    ['NUL', post({ name: 'a\0b' }), 400, 'the body must not contain the NUL character'],
    ['NUL in a field’s name', post({ 'na\0me': 'x' }), 400, 'the body must not contain the NUL character'],
    ['half of a surrogate pair', post({ name: 'a\ud800b' }), 400, 'the body must not contain half of a surrogate pair'],
    ['an empty list', post({ name: 'x', scope: [] }), 400, 'scope must not be an empty list; omit it instead'],
    ['an empty list inside', scope({ role: 'uptime.viewer', resourceIds: [] }), 400, 'scope.0.resourceIds must not be an empty list; omit it instead'],
    ['none of the choices', post({ email: 'x@example.com', role: 'king' }, '/organization/invitations'), 400, 'role must be one of owner, admin, member'],
    ['a bad address', { method: 'PATCH', path: '/organization/contacts', body: '{"billingEmail":"nobody"}' }, 400, 'billingEmail must be a valid email address'],

    // Fields with a form of their own
    ['a slug in capitals', post({ slug: 'ACME!' }, '/registry/registries'), 400, 'slug is not written as it must be: 3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends'],
    ['a slug of a status page', post({ slug: '-up-', title: 'x', serviceIds: ['svc_x'] }, '/status-pages'), 400, 'slug is not written as it must be: 3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends'],
    ['a colour by its name', { method: 'PATCH', path: '/status-pages/stp_x', body: '{"accentColour":"red"}' }, 400, 'accentColour is not written as it must be: `#rrggbb` in hex digits, such as #0a6cff'],
    ['a name of a cluster', post({ name: '9lives', tier: 'small' }, '/clusters'), 400, 'name is not written as it must be: lower-case letters, digits and hyphens, beginning with a letter and not ending in a hyphen'],
    ['a pattern of a route', post({ domainId: 'dom_x', pattern: 'a@b', endpointId: 'whk_x' }, '/email/routes'), 400, 'pattern is not written as it must be: the local part of an address, at most 64 letters, digits, dots and signs such as + or -, or its beginning and a star, or a lone star: `support`, `team-*`, `*`'],
    ['an account of a provider', { method: 'PUT', path: '/oncall/provider', body: JSON.stringify({ accountSid: 'XY', authToken: 'x'.repeat(32), fromNumber: '+15005550006' }) }, 400, 'accountSid is not written as it must be: a Twilio account: AC and 32 hex digits'],
    ['a pattern of tags', { method: 'PATCH', path: '/registry/registries/acme', body: '{"immutableTags":["v*","a b"]}' }, 400, 'immutableTags.1 is not written as it must be: a tag, or repository:tag, where `*` stands for any run of characters: `v*`, `team/app:release-*`'],
    ['a rule of retention', { method: 'PATCH', path: '/registry/registries/acme', body: '{"retention":{"rules":[{"repositories":"Team","keepLast":1}]}}' }, 400, 'retention.rules.0.repositories is not written as it must be: a repository’s name in lower case, where `*` stands for any run of characters: `team/*`'],
    ['a name of a repository', { path: '/registry/registries/acme/tags?repo=Team' }, 400, 'repo is not written as it must be: a repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app'],
    ['a digest cut short', { method: 'DELETE', path: '/registry/registries/acme/manifests?repo=a&digest=sha256:12' }, 400, 'digest is not written as it must be: `sha256:` and 64 hex digits in lower case, or `sha512:` and 128 of them'],
    ['the same twice', post({ url: 'https://example.com', eventTypes: ['email.bounced', 'email.bounced'] }, '/email/webhooks'), 400, 'eventTypes must not name the same twice'],

    // What the body names
    ['an unknown role', scope({ role: 'king' }), 400, 'king is not a role; GET /api/v1/iam/roles lists them'],
    ['a role that cannot be narrowed', scope({ role: 'owner', resourceIds: [shop] }), 400, 'the role owner cannot be narrowed to resources; leave resourceIds out'],
    ['an unknown resource', scope({ role: 'uptime.viewer', resourceIds: ['svc_x'] }), 400, 'svc_x is not a resource that you can see; GET /api/v1/tokens/scope-options lists them'],
    ['another organization’s resource', scope({ role: 'uptime.viewer', resourceIds: [theirs] }), 400, `${theirs} is not a resource that you can see; GET /api/v1/tokens/scope-options lists them`],
    ['an unknown permission', post({ name: 'x', permissions: ['a.b.c'] }, '/iam/roles'), 400, 'a.b.c is not a permission; GET /api/v1/iam/permissions lists them'],
    ['a subject from elsewhere', post({ subject: foreigner.userId, role: 'uptime.viewer' }, '/iam/grants'), 400, 'subject is not a member of the organization; GET /api/v1/organization/members lists them'],
    ['a place granted as a role', post({ subject: qd.owner.userId, role: 'admin' }, '/iam/grants'), 400, 'admin is a member’s place in the organization, not a grant; change it with PATCH /api/v1/organization/members/{userId}'],
    ['a name that is taken', post({ name: 'SHOP' }, '/uptime/services'), 409, 'a service named SHOP exists; choose another name'],

    // The path
    ['an unknown id', service('svc_00000000000000000000000000'), 404, 'unknown service'],
    ['another organization’s id', service(theirs), 404, 'unknown service'],
    ['an id of another kind', service(qd.owner.tokenId), 404, 'unknown service'],
    ['NUL in an id', service('%00'), 400, 'the path must not contain the NUL character'],
    ['bad percent-encoding', service('%zz'), 400, 'the path is not valid percent-encoded UTF-8'],
    ['percent-encoded bytes that are no text', service('%ff'), 400, 'the path is not valid percent-encoded UTF-8'],
    ['too long an id', service('x'.repeat(513)), 400, 'a part of the path has more than 512 characters'],
    ['an unknown path', { method: 'GET', path: '/nowhere?x=1' }, 404, 'there is no GET /api/v1/nowhere; /docs lists what there is'],
    ['another method', { method: 'PUT', path: '/tokens', body: '{}' }, 404, 'there is no PUT /api/v1/tokens; /docs lists what there is'],
    ['OPTIONS', { method: 'OPTIONS', path: '/tokens' }, 404, 'there is no OPTIONS /api/v1/tokens; /docs lists what there is'],
    ['a method of WebDAV', { method: 'PROPFIND', path: '/tokens' }, 404, 'there is no PROPFIND /api/v1/tokens; /docs lists what there is'],

    // The query
    ['text for a limit', { path: '/tokens?limit=ten' }, 400, 'limit must be an integer'],
    ['a limit of nothing', { path: '/tokens?limit=0' }, 400, 'limit must be at least 1'],
    ['too large a limit', { path: '/tokens?limit=1001' }, 400, 'limit must be at most 1000'],
    ['a limit twice', { path: '/tokens?limit=1&limit=2' }, 400, 'limit is given more than once; once is enough'],
    ['a made-up cursor', { path: '/tokens?cursor=abc' }, 400, 'the cursor is not one of ours; start again without it'],
    ['NUL in a cursor', { path: '/tokens?cursor=%00' }, 400, 'the query must not contain the NUL character'],
    ['an unknown parameter', { path: '/me?verbose=1' }, 400, 'verbose is not a known parameter here'],

    // Headers
    ['no token', { path: '/tokens', headers: { authorization: '' } }, 401, 'unauthenticated: send a token as `Authorization: Bearer qd_pat_…`'],
    ['no token, in uptime’s words', { path: '/uptime/services', headers: { authorization: '' } }, 401, 'no valid session: send a token as `Authorization: Bearer qd_pat_…`'],
    ['another scheme', { path: '/tokens', headers: { authorization: `Basic ${btoa('owner:secret')}` } }, 401, 'unauthenticated: send a token as `Authorization: Bearer qd_pat_…`'],
    ['an unknown token', { path: '/tokens', headers: { authorization: 'Bearer qd_pat_x' } }, 401, 'unauthenticated: the token is unknown, disabled, expired or revoked'],
    ['another organization’s slug', { path: '/me', headers: { 'x-organization': 'foreigners' } }, 403, 'organization mismatch: the token belongs to another organization than X-Organization names'],
    ['a slug of nobody', { path: '/me', headers: { 'x-organization': 'nowhere' } }, 403, 'organization mismatch: the token belongs to another organization than X-Organization names'],
    ['a bad Idempotency-Key', { ...post({ name: 'x' }), headers: { 'idempotency-key': 'a b' } }, 400, 'the Idempotency-Key must be 1 to 255 visible ASCII characters'],
    ['an expectation', { path: '/me', headers: { expect: 'a-miracle' } }, 417, 'the Expect header asks for what is not offered; only 100-continue is'],
  ];

  const wrong: string[] = [];
  for (const [what, { method = 'GET', path, body, headers }, status, sentence] of table) {
    const answer = await send({
      method,
      path: `/api/v1${path}`,
      body,
      headers: {
        authorization: `Bearer ${qd.owner.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    const said = answer.text ? refusal(answer) : '';
    if (answer.status !== status || said !== sentence) wrong.push(`${what}: ${answer.status} ${said}\n  instead of ${status} ${sentence}`);
  }
  assert.equal(wrong.length, 0, wrong.join('\n'));

  await t.test('what is no error is none', async () => {
    const authorization = `Bearer ${qd.owner.key}`;
    const fine: Wire[] = [
      { method: 'HEAD', path: '/api/v1/tokens', headers: { authorization } },
      { method: 'GET', path: '/api/v1/me', headers: { authorization: `bearer  ${qd.owner.key} `, 'x-organization': 'default' } },
      {
        method: 'POST',
        path: '/api/v1/tokens',
        headers: { authorization, 'content-type': 'Application/JSON; charset=UTF-8' },
        body: '\uFEFF{"name":"with a byte order mark"}',
      },
      { method: 'DELETE', path: `/api/v1/uptime/services/${shop}`, headers: { authorization, 'content-type': 'image/png' }, body: '' },
    ];
    for (const request of fine) assert.ok((await send(request)).status < 300, JSON.stringify(request));
    assert.equal((await send(fine[0]!)).text, '');
  });

  await t.test("another organization's thing cannot be told from nothing", async () => {
    const [unknown, foreign] = await Promise.all(
      ['svc_00000000000000000000000000', theirs].map((id) => qd.owner.delete(`/uptime/services/${id}`)),
    );
    assert.deepEqual(
      [unknown!.status, unknown!.body, unknown!.headers.get('x-error-code')],
      [foreign!.status, foreign!.body, foreign!.headers.get('x-error-code')],
    );
  });
});
