import Type from 'typebox';
import { DateTime, input, named, op } from '../common.ts';

const RegistryUpstream = named(
  'RegistryUpstream',
  Type.Object({
    host: Type.String({ description: 'The first part of a cached image’s name: `HOST/<slug>/<host>/<path>`' }),
    endpoint: Type.String(),
  }),
);

const RegistryUpstreamCredential = named(
  'RegistryUpstreamCredential',
  Type.Object({ upstream: Type.String(), username: Type.String(), createdAt: DateTime }),
);

export const upstreamOps = {
  listRegistryUpstreams: op({
    method: 'GET',
    path: '/registry/upstreams',
    summary: 'What may be cached',
    description: 'The upstream registries that a pull goes through to and is cached from.',
    permission: 'registry.registry.read',
    scoped: true,
    responses: { 200: Type.Object({ upstreams: Type.Array(RegistryUpstream) }) },
  }),
  listRegistryUpstreamCredentials: op({
    method: 'GET',
    path: '/registry/registries/{slug}/upstream-credentials',
    summary: 'List your upstream logins',
    description: 'User names only; passwords are never shown.',
    permission: 'registry.upstream.read',
    scoped: true,
    responses: { 200: Type.Object({ upstreamCredentials: Type.Array(RegistryUpstreamCredential) }) },
  }),
  setRegistryUpstreamCredential: op({
    method: 'PUT',
    path: '/registry/registries/{slug}/upstream-credentials/{host}',
    summary: 'Bring your own login for an upstream',
    description:
      'Tried with the upstream first; nothing is stored unless it takes it. Pulls then count against your limits there, and what is cached is only yours.',
    permission: 'registry.upstream.admin',
    scoped: true,
    body: input({
      username: Type.String({ minLength: 1, maxLength: 255 }),
      password: Type.String({ minLength: 1, maxLength: 8192, description: 'Kept sealed, never returned' }),
    }),
    responses: { 200: Type.Object({ upstream: Type.String(), username: Type.String() }) },
    errors: {
      404: 'unknown registry, not of this organization, or a host that is not in the upstream catalog',
      422: 'the upstream rejects the login',
      502: 'the upstream is unreachable',
    },
  }),
  deleteRegistryUpstreamCredential: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/upstream-credentials/{host}',
    summary: 'Forget an upstream login',
    permission: 'registry.upstream.admin',
    scoped: true,
    responses: { 204: null },
  }),
};
