import Type from 'typebox';
import { DateTime, input, named, nextCursor, oneOf, op, page } from '../common.ts';
import { digest, repo, tag } from './names.ts';

const RegistryTag = named(
  'RegistryTag',
  Type.Object({
    name: Type.String(),
    digest: Type.String(),
    manifestSize: Type.Integer({ minimum: 0, description: 'Bytes of the manifest document itself' }),
    updatedAt: DateTime,
  }),
);

const RegistryManifest = named(
  'RegistryManifest',
  Type.Object({
    digest: Type.String(),
    mediaType: Type.String(),
    sizeBytes: Type.Integer({
      minimum: 0,
      description: 'Manifest, configuration and layers; of an index its own bytes and its distinct children',
    }),
    tags: Type.Array(Type.String(), { description: 'Empty: untagged' }),
    createdAt: DateTime,
    signatures: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Signatures attached to it (cosign, notation); whether they are good is for a client to verify',
      }),
    ),
    sboms: Type.Optional(Type.Integer({ minimum: 0, description: 'Software bills of materials attached to it' })),
  }),
);

const unknown = 'unknown registry, repository or image, or not of this organization';

export const imageOps = {
  listRegistryTags: op({
    method: 'GET',
    path: '/registry/registries/{slug}/tags',
    summary: 'List a repository’s tags',
    description: 'By name.',
    permission: 'registry.image.read',
    scoped: true,
    query: input({ repo, ...page }),
    responses: { 200: Type.Object({ tags: Type.Array(RegistryTag), cursor: nextCursor }) },
    errors: { 404: unknown },
  }),
  deleteRegistryTag: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/tags',
    summary: 'Delete a tag',
    description:
      'Only the tag: its manifest stays, untagged. With `purge=true`, which needs registry.image.admin, an image that lost its last tag is deleted too, with what it lists and what is attached to it (signatures, SBOMs) unless that has a tag or ever had one, and its space reclaimed; `purged` says whether that happened.',
    permission: 'registry.image.write',
    scoped: true,
    query: input({ repo, tag, purge: Type.Optional(oneOf(['true', 'false'], { description: 'false by default' })) }),
    responses: { 200: Type.Object({ purged: Type.Boolean() }) },
    errors: {
      403: 'not allowed: the caller lacks the permission (registry.image.admin to purge), or names another organization',
      404: unknown,
      409: 'the tag is immutable: change the registry’s rules first',
    },
  }),
  listRegistryManifests: op({
    method: 'GET',
    path: '/registry/registries/{slug}/manifests',
    summary: 'List a repository’s manifests',
    description: 'Tagged and untagged, newest first.',
    permission: 'registry.image.read',
    scoped: true,
    query: input({ repo, ...page }),
    responses: { 200: Type.Object({ manifests: Type.Array(RegistryManifest), cursor: nextCursor }) },
    errors: { 404: unknown },
  }),
  deleteRegistryManifest: op({
    method: 'DELETE',
    path: '/registry/registries/{slug}/manifests',
    summary: 'Delete an image by digest',
    description:
      'With its tags, and with what it lists (an index) and what is attached to it (signatures, SBOMs), unless that has a tag or ever had one: somebody may still pull it by its digest. Blobs that nothing else in the repository refers to are freed.',
    permission: 'registry.image.admin',
    fresh: true,
    scoped: true,
    query: input({ repo, digest }),
    responses: { 204: null },
    errors: {
      404: unknown,
      409: 'an index still lists the manifest: delete that first; or one of its tags is immutable; the sentence names it',
    },
  }),
};
