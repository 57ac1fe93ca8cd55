import Type from 'typebox';
import { DateTime, input, named, nextCursor, oneOf, op, page } from '../common.ts';
import { digest, reference, repo, tag, tagPrefix } from './names.ts';

const RegistryTag = named(
  'RegistryTag',
  Type.Object({
    name: Type.String(),
    digest: Type.String(),
    manifestSize: Type.Integer({ minimum: 0, description: 'Bytes of the manifest document itself' }),
    sizeBytes: Type.Optional(
      Type.Integer({ minimum: 0, description: 'With configuration and layers; of an index with its distinct children; always present' }),
    ),
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

const RegistryLayer = named(
  'RegistryLayer',
  Type.Object({
    digest: Type.String(),
    mediaType: Type.String(),
    sizeBytes: Type.Integer({ minimum: 0 }),
  }),
);

const RegistryImage = named(
  'RegistryImage',
  Type.Object({
    digest: Type.String(),
    mediaType: Type.String(),
    artifactType: Type.Optional(Type.String({ description: 'What it is, where it is no image that runs' })),
    sizeBytes: Type.Integer({ minimum: 0, description: 'Manifest, configuration and layers; of an index its distinct children' }),
    createdAt: DateTime,
    pulledAt: Type.Optional(DateTime),
    tags: Type.Array(Type.String(), { description: 'By name; the first 1,000' }),
    subject: Type.Optional(Type.String({ description: 'The digest of the image that it is attached to' })),
    platforms: Type.Array(
      Type.Object({
        digest: Type.String({ description: 'Pull by it to get this platform alone' }),
        platform: Type.Optional(Type.String({ description: 'Such as linux/arm64/v8; absent where the image does not tell' })),
        isHere: Type.Boolean({ description: 'Whether the registry holds it; an index may name more than was pushed' }),
        sizeBytes: Type.Optional(Type.Integer({ minimum: 0 })),
        layers: Type.Array(RegistryLayer, { description: 'In their order, the lowest first' }),
      }),
      { description: 'Of an index the images that it lists, the first 100; of an image itself' },
    ),
    attachments: Type.Array(
      Type.Object({
        digest: Type.String(),
        kind: oneOf(['signature', 'sbom', 'attestation', 'other']),
        type: Type.String({ description: 'Its type or predicate, as the client that attached it wrote it' }),
        tag: Type.Optional(Type.String({ description: 'The tag that attaches it, where no subject does' })),
        sizeBytes: Type.Integer({ minimum: 0 }),
        createdAt: DateTime,
      }),
      { description: 'Signatures, SBOMs and whatever else refers to it, the first 100; whether they are good is for a client to verify' },
    ),
    purge: Type.Object(
      {
        manifests: Type.Integer({
          minimum: 0,
          description: 'With what it lists and what is attached to it, as far as nothing else keeps that',
        }),
        freedBytes: Type.Integer({ minimum: 0, description: 'Layers that nothing else in the repository needs' }),
        isCut: Type.Boolean({ description: 'There is more than was counted' }),
        listedBy: Type.Optional(Type.String({ description: 'The digest of an index that lists it and has to go first' })),
        immutableTag: Type.Optional(Type.String({ description: 'A tag that the rules of the registry keep' })),
      },
      { description: 'What deleting the image would take along, and what is in the way' },
    ),
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
    query: input({ repo, prefix: Type.Optional(tagPrefix), ...page }),
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
  getRegistryImage: op({
    method: 'GET',
    path: '/registry/registries/{slug}/image',
    summary: 'One image: platforms, layers and what is attached',
    description:
      'By a tag or a digest. Manifests of at most 256 KiB are read for their layers, 4 MiB in all; the platform of a single image is read from its configuration, if that has at most 1 MiB.',
    permission: 'registry.image.read',
    scoped: true,
    query: input({ repo, reference }),
    responses: { 200: RegistryImage },
    errors: { 404: unknown },
    extension: true,
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
