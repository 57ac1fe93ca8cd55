import Type from 'typebox';
import { DateTime, input, Name, named, nextCursor, op, page } from '../common.ts';
import { immutableTags, Retention, repo, repoPrefix } from './names.ts';

const bytes = (description: string) => Type.Integer({ minimum: 0, description });

const Registry = named(
  'Registry',
  Type.Object({
    slug: Type.String(),
    displayName: Type.String(),
    region: Type.String(),
    storageQuotaBytes: bytes('What the registry may hold'),
    usedBytes: Type.Optional(bytes('What the quota counts; always present')),
    createdAt: DateTime,
  }),
);

const RegistryDetail = named(
  'RegistryDetail',
  Type.Object({
    slug: Type.String(),
    region: Type.String(),
    storageQuotaBytes: bytes('What the registry may hold'),
    usedBytes: bytes('What the quota counts: distinct bytes of layers, and what manifests weigh in each repository'),
    repositoryCount: Type.Integer({ minimum: 0 }),
    createdAt: DateTime,
    displayName: Type.Optional(Type.String()),
    immutableTags: Type.Optional(immutableTags),
    retention: Type.Optional(Retention),
  }),
);

const RegistryUsage = named(
  'RegistryUsage',
  Type.Object({
    slug: Type.String(),
    usedBytes: bytes('Now'),
    storageQuotaBytes: bytes('Now'),
    days: Type.Array(
      Type.Object({
        date: Type.String({ description: 'A day in UTC, YYYY-MM-DD' }),
        usedBytes: bytes('At its end; today, now'),
        storageQuotaBytes: bytes('What the registry might hold then'),
        usedPct: Type.Number({ minimum: 0, description: 'The share of the quota in percent, to a tenth' }),
      }),
      { description: 'Oldest first, today last. A day on which no server ran is absent, as are days before this was recorded' },
    ),
  }),
);

const RegistryRepository = named(
  'RegistryRepository',
  Type.Object({
    name: Type.String(),
    tagCount: Type.Integer({ minimum: 0 }),
    sizeBytes: bytes('Distinct bytes in the repository'),
    createdAt: DateTime,
  }),
);

export const registryOps = {
  listRegistries: op({
    method: 'GET',
    path: '/registry/registries',
    summary: 'List registries',
    permission: 'registry.registry.read',
    scoped: true,
    responses: { 200: Type.Object({ registries: Type.Array(Registry) }) },
  }),
  createRegistry: op({
    method: 'POST',
    path: '/registry/registries',
    summary: 'Create a registry',
    description: 'Images are then `HOST/<slug>/<repository>`. The slug is unique everywhere and can never be changed.',
    permission: 'registry.registry.write',
    body: input({
      slug: Type.String({
        minLength: 3,
        maxLength: 40,
        pattern: '^[a-z0-9]([a-z0-9-]{1,38}[a-z0-9])$',
        description: '3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends',
      }),
      displayName: Type.Optional(Name),
      region: Type.Optional(Type.String({ minLength: 1, maxLength: 63, description: 'The server’s own region by default' })),
    }),
    responses: { 201: Registry },
    errors: {
      400: 'a bad slug, or an unknown region',
      402: 'the organization has no active payment method',
      409: 'the slug is taken or reserved, or the organization has 1,000 registries',
    },
  }),
  getRegistry: op({
    method: 'GET',
    path: '/registry/registries/{slug}',
    summary: 'One registry with quota and usage',
    permission: 'registry.registry.read',
    scoped: true,
    responses: { 200: RegistryDetail },
  }),
  getRegistryUsage: op({
    method: 'GET',
    path: '/registry/registries/{slug}/usage',
    summary: 'Storage by day against the quota',
    description: 'Figures are noted every hour and kept for 400 days.',
    permission: 'registry.registry.read',
    scoped: true,
    query: input({ days: Type.Optional(Type.Integer({ minimum: 1, maximum: 400, description: '90 by default, today included' })) }),
    responses: { 200: RegistryUsage },
    extension: true,
  }),
  updateRegistry: op({
    method: 'PATCH',
    path: '/registry/registries/{slug}',
    summary: 'Change a registry’s name and rules',
    description:
      'Immutable tags can neither move nor be deleted, nor what they lead to, until the rule is changed. Retention removes old tags and untagged images with what is attached to them. Both are replaced whole.',
    permission: 'registry.registry.write',
    scoped: true,
    body: input({ displayName: Type.Optional(Name), immutableTags: Type.Optional(immutableTags), retention: Type.Optional(Retention) }),
    responses: { 200: RegistryDetail },
    extension: true,
  }),
  deleteRegistry: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}',
    summary: 'Delete an empty registry',
    permission: 'registry.registry.admin',
    fresh: true,
    scoped: true,
    responses: { 204: null },
    errors: { 409: 'the registry still has repositories: delete them first' },
  }),
  listRegistryRepositories: op({
    method: 'GET',
    path: '/registry/registries/{slug}/repositories',
    summary: 'List repositories',
    description: 'By name.',
    permission: 'registry.image.read',
    scoped: true,
    query: input({ prefix: Type.Optional(repoPrefix), ...page }),
    responses: { 200: Type.Object({ repositories: Type.Array(RegistryRepository), cursor: nextCursor }) },
  }),
  deleteRegistryRepository: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/repositories',
    summary: 'Delete a repository',
    description: 'With every manifest, tagged or not, its tags and its blobs.',
    permission: 'registry.image.admin',
    fresh: true,
    scoped: true,
    query: input({ repo }),
    responses: { 204: null },
    errors: { 404: 'unknown registry or repository, or not of this organization' },
  }),
};
