import Type from 'typebox';
import { area, DateTime, ExpiresIn, input, Name, Narrowing, named, nextCursor, nullable, op, page } from './common.ts';

export const TokenScope = named(
  'TokenScope',
  input({
    role: Type.String({ minLength: 1, maxLength: 100, description: 'The id of a built-in or custom role' }),
    resourceIds: Type.Optional(Narrowing('Ids of the resources to which the role is narrowed; absent: all that the owner can see')),
  }),
);

export const PersonalToken = named(
  'PersonalToken',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    start: Type.String({ description: 'The key’s prefix and its first 4 characters, to recognize it by' }),
    enabled: Type.Boolean(),
    createdAt: DateTime,
    expiresAt: DateTime,
    lastRequest: nullable(DateTime, 'null until the token is first used; brought up to date every few seconds'),
    orgSlug: Type.String(),
    mintedBy: Type.Optional(Type.String({ description: 'The token that minted it, and with which it ends; absent when none did' })),
    scope: Type.Array(
      Type.Object({
        role: Type.String(),
        roleName: Type.String(),
        resourceIds: Type.Array(Type.String(), { description: 'Empty: not narrowed to resources' }),
      }),
      { description: 'Empty: not narrowed, all that its owner may do' },
    ),
  }),
);

export const TokenScopeRole = named(
  'TokenScopeRole',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    scopable: Type.Boolean({ description: 'Whether the role may be narrowed to resource ids' }),
    service: Type.Optional(Type.String()),
  }),
);

export const TokenScopeResource = named(
  'TokenScopeResource',
  Type.Object({ service: Type.String(), id: Type.String(), name: Type.String() }),
);

export const tokens = area(
  {
    name: 'tokens',
    label: 'Tokens',
    description: 'Personal API tokens, bound to the acting organization and optionally narrowed by role and resource',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    listTokens: op({
      method: 'GET',
      path: '/tokens',
      summary: 'List your tokens',
      description:
        'The caller’s own tokens of the acting organization, newest first. A narrowed token sees itself and what it minted. Keys are never shown again.',
      permission: 'member',
      kinds: ['tokens.token'],
      query: input(page),
      responses: { 200: Type.Object({ tokens: Type.Array(PersonalToken), cursor: nextCursor }) },
    }),
    createToken: op({
      method: 'POST',
      path: '/tokens',
      summary: 'Mint a token',
      description:
        'Its rights are, at every use, what its owner may do then, narrowed by its scope. A token minted by a token never exceeds the minting one: a missing scope becomes the minter’s, it ends no later than the minter (90 days, or as long as the minter has left, unless `expiresIn` says less), and it is switched off and revoked with it. The key is returned only here.',
      permission: 'member',
      kinds: ['tokens.token'],
      fresh: true,
      body: input({
        name: Name,
        expiresIn: Type.Optional(ExpiresIn),
        scope: Type.Optional(
          Type.Array(TokenScope, { minItems: 1, maxItems: 100, description: 'All entries together name at most 1,000 resources' }),
        ),
      }),
      responses: { 201: Type.Object({ id: Type.String(), key: Type.String(), orgSlug: Type.String() }) },
      errors: {
        403: 'the scope names more than the owner, or the minting token, holds, or `expiresIn` is beyond the minting token’s end',
        409: 'the Idempotency-Key was used before in another way, the minting token is the tenth of those that minted one another, or the owner has as many tokens as there can be',
      },
      secret: true,
    }),
    listScopeOptions: op({
      method: 'GET',
      path: '/tokens/scope-options',
      summary: 'What a token’s scope can name',
      description: 'Built-in and custom roles that the caller may put into a scope, and the resources the caller can read.',
      permission: 'member',
      kinds: [],
      responses: { 200: Type.Object({ roles: Type.Array(TokenScopeRole), resources: Type.Array(TokenScopeResource) }) },
    }),
    updateToken: op({
      method: 'PATCH',
      path: '/tokens/{id}',
      summary: 'Rename, switch off or on, or re-scope a token',
      description: 'What it minted is switched off and narrowed with it. A narrowed token changes itself and what it minted, no other.',
      permission: 'member',
      fresh: true,
      kinds: ['tokens.token'],
      body: input({
        name: Type.Optional(Name),
        enabled: Type.Optional(Type.Boolean()),
        scope: Type.Optional(
          Type.Array(TokenScope, { minItems: 1, maxItems: 100, description: 'All entries together name at most 1,000 resources' }),
        ),
      }),
      responses: { 200: PersonalToken },
      errors: {
        403: 'the new scope exceeds what the caller, or the token that minted it, holds; or the caller is narrowed and did not mint it',
      },
      extension: true,
    }),
    deleteToken: op({
      method: 'DELETE',
      path: '/tokens/{id}',
      summary: 'Revoke a token for good',
      description:
        'With it all that it minted, registry logins included. Effective in every process at once; requests under way with it are cut off. A narrowed token revokes itself and what it minted, no other.',
      permission: 'member',
      kinds: ['tokens.token'],
      responses: { 204: null },
      errors: { 403: 'the calling token is narrowed, and did not mint it' },
      extension: true,
    }),
  },
);
