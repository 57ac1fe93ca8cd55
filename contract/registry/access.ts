import Type from 'typebox';
import { DateTime, input, Name, Narrowing, named, oneOf, op } from '../common.ts';
import { mode } from './names.ts';

const RegistryKey = named(
  'RegistryKey',
  Type.Object({
    keyId: Type.String({ description: 'The user name for docker login' }),
    name: Type.String(),
    mode,
    repoPrefixes: Type.Array(Type.String(), { description: 'Empty: not narrowed, every repository' }),
    mintedVia: oneOf(['manual', 'oidc']),
    createdAt: DateTime,
    expiresAt: Type.Optional(DateTime),
    lastUsedAt: Type.Optional(DateTime),
    revokedAt: Type.Optional(DateTime),
  }),
);

const RegistryLogin = named(
  'RegistryLogin',
  Type.Object({
    username: Type.String({ description: 'Also the keyId for revoking it' }),
    password: Type.String(),
    expiresAt: DateTime,
    registry: Type.String({ description: 'The host to log in to' }),
    scope: Type.Array(Type.Object({ registry: Type.String({ description: 'A slug' }), mode })),
  }),
);

const repoPrefixes = Type.Optional(
  Narrowing('Whole path segments: `team` covers team and team/app, never teams; absent: every repository'),
);

export const accessOps = {
  createRegistryLogin: op({
    method: 'POST',
    path: '/registry/login-credentials',
    summary: 'Log in for an hour',
    description:
      'One credential for every registry the caller can reach: read-only where the caller may only read, or everywhere with `pullOnly`. It never exceeds the token that mints it: it is over when that one ends, if sooner, and is revoked with it. The password is returned only here.',
    permission: 'registry.image.read',
    kinds: ['registry.key'],
    scoped: true,
    body: input({
      registry: Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: 'The slug of the only registry it is for' })),
      pullOnly: Type.Optional(Type.Boolean()),
    }),
    responses: { 201: RegistryLogin },
    errors: { 403: 'the caller has no registry access, or not to this registry', 404: 'unknown registry, or not of this organization' },
    secret: true,
  }),
  revokeRegistryLogin: op({
    method: 'DELETE',
    path: '/registry/login-credentials/{keyId}',
    summary: 'Log out',
    description:
      'Your own credential, whatever your roles are by now; to a narrowed token, one that it minted. Any other needs registry.key.admin.',
    permission: 'member',
    kinds: ['registry.key'],
    responses: { 204: null },
  }),
  listRegistryKeys: op({
    method: 'GET',
    path: '/registry/registries/{slug}/keys',
    summary: 'List registry keys',
    description:
      'Revoked and expired ones stay listed for 90 days; of these and of those that jobs have minted, the newest 1,000 are. Secrets are never shown again.',
    permission: 'registry.key.read',
    scoped: true,
    responses: { 200: Type.Object({ keys: Type.Array(RegistryKey) }) },
  }),
  createRegistryKey: op({
    method: 'POST',
    path: '/registry/registries/{slug}/keys',
    summary: 'Mint a registry key',
    description:
      'A long-lived login of the organization’s: keyId and secret are user name and password. It outlives the token that mints it; callers with registry.key.admin see and revoke it. The secret is returned only here.',
    permission: 'registry.key.admin',
    fresh: true,
    scoped: true,
    body: input({ name: Name, mode, repoPrefixes }),
    responses: { 201: Type.Object({ keyId: Type.String(), secret: Type.String() }) },
    errors: { 409: 'the registry has 1,000 keys that are not revoked' },
    secret: true,
  }),
  revokeRegistryKey: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/keys/{keyId}',
    summary: 'Revoke a registry key for good',
    permission: 'registry.key.admin',
    scoped: true,
    responses: { 204: null },
    errors: { 404: 'unknown registry or key, revoked already, or not of this organization' },
  }),
};
