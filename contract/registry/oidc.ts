import Type from 'typebox';
import { DateTime, input, Name, Narrowing, named, oneOf, op } from '../common.ts';
import { mode } from './names.ts';

const RegistryOidcRule = named(
  'RegistryOidcRule',
  Type.Object({
    id: Type.Integer(),
    name: Type.String(),
    issuer: Type.String(),
    audience: Type.String(),
    subjectPattern: Type.String(),
    mode,
    repoPrefixes: Type.Array(Type.String(), { description: 'Empty: not narrowed, every repository' }),
    createdAt: DateTime,
  }),
);

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenTypes = ['urn:ietf:params:oauth:token-type:id_token', 'urn:ietf:params:oauth:token-type:jwt'] as const;

export const oidcOps = {
  listRegistryOidcRules: op({
    method: 'GET',
    path: '/registry/registries/{slug}/oidc-rules',
    summary: 'List OIDC access rules',
    permission: 'registry.oidc.read',
    scoped: true,
    responses: { 200: Type.Object({ rules: Type.Array(RegistryOidcRule) }) },
  }),
  createRegistryOidcRule: op({
    method: 'POST',
    path: '/registry/registries/{slug}/oidc-rules',
    summary: 'Let CI log in by OIDC',
    description:
      'A job that proves issuer, audience and subject by its ID token gets a registry key for at most an hour, without any stored secret.',
    permission: 'registry.oidc.admin',
    fresh: true,
    scoped: true,
    body: input({
      name: Type.Optional(Name),
      issuer: Type.String({ format: 'uri', maxLength: 2048, description: 'https, exactly as in the token’s `iss`' }),
      audience: Type.String({ minLength: 1, maxLength: 512 }),
      subjectPattern: Type.String({
        minLength: 1,
        maxLength: 512,
        description:
          'The whole subject; `*` stays inside one `:`-separated part, `**` crosses; at most 16 of them: `repo:acme/app:ref:refs/heads/*`',
      }),
      mode,
      repoPrefixes: Type.Optional(Narrowing('Only these repositories, by whole path segments')),
    }),
    responses: { 201: RegistryOidcRule },
    errors: { 400: 'an issuer that is not https, a pattern that would match strangers, or an invalid field' },
  }),
  matchRegistryOidcSubject: op({
    method: 'POST',
    path: '/registry/registries/{slug}/oidc-rules/match',
    summary: 'Would this subject match?',
    changesNothing: true,
    description:
      'Compares the claims of an ID token with the rules of the registry, as the exchange does, and says which rule would admit it. An issuer or audience that is left out is not compared. With `subjectPattern` that pattern is compared instead, before it is saved. Nothing is minted.',
    permission: 'registry.oidc.read',
    scoped: true,
    body: input({
      subject: Type.String({ minLength: 1, maxLength: 2048, description: 'The `sub` of the token' }),
      issuer: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description: 'Its `iss`' })),
      audience: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Its `aud`' })),
      mode: Type.Optional(mode),
      subjectPattern: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'A pattern to try instead of the rules' })),
    }),
    responses: {
      200: Type.Object({
        admitted: Type.Boolean(),
        ruleId: Type.Optional(Type.Integer({ description: 'The rule whose key the job would get' })),
        mode: Type.Optional(mode),
        rules: Type.Array(
          Type.Object({
            id: Type.Integer(),
            name: Type.String(),
            subjectPattern: Type.String(),
            mode,
            matches: Type.Boolean(),
            mismatch: Type.Optional(
              oneOf(['issuer', 'audience', 'subject'], { description: 'The first claim that the rule does not take' }),
            ),
          }),
          { description: 'Oldest first; empty with `subjectPattern`' },
        ),
      }),
    },
    errors: { 400: 'a pattern that would match strangers, or an invalid field' },
    extension: true,
  }),
  deleteRegistryOidcRule: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/oidc-rules/{id}',
    summary: 'Delete an OIDC access rule',
    description: 'Keys minted by it are revoked too.',
    permission: 'registry.oidc.admin',
    scoped: true,
    params: Type.Object({ id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) }),
    responses: { 204: null },
    errors: { 404: 'unknown registry or rule, or not of this organization' },
  }),
  exchangeRegistryOidcToken: op({
    method: 'POST',
    path: '/registry/oidc/token',
    summary: 'Swap an OIDC ID token for a registry key',
    description:
      'OAuth 2.0 Token Exchange (RFC 8693), as form or JSON. The key is listed among the registry’s keys and can be revoked there.',
    permission: 'none',
    body: Type.Object({
      grant_type: Type.Optional(oneOf([grantType])),
      subject_token: Type.String({ minLength: 1, maxLength: 16_384, description: 'The ID token' }),
      subject_token_type: Type.Optional(oneOf(tokenTypes)),
      audience: Type.String({ minLength: 1, maxLength: 40, description: 'The slug of the registry' }),
      scope: Type.Optional(oneOf(['pull', 'readwrite'], { description: 'The most that the matching rules allow by default' })),
    }),
    form: true,
    responses: {
      200: Type.Object({
        access_token: Type.String({ description: 'The same as `password`' }),
        issued_token_type: Type.String(),
        token_type: Type.String(),
        expires_in: Type.Integer({ description: 'Seconds' }),
        keyId: Type.String(),
        username: Type.String(),
        password: Type.String(),
        expiresAt: DateTime,
        registry: Type.String({ description: 'The host to log in to' }),
        mode,
        repoPrefixes: Type.Array(Type.String()),
      }),
    },
    errors: {
      401: 'no rule matches: the token is not valid, or no rule of such a registry admits it',
      502: 'the issuer cannot be reached',
    },
    secret: true,
    foreign: true,
    extension: true,
  }),
};
