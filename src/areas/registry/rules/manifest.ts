import { isDigest } from './names.ts';

export const mediaTypes = {
  ociManifest: 'application/vnd.oci.image.manifest.v1+json',
  ociIndex: 'application/vnd.oci.image.index.v1+json',
  ociArtifact: 'application/vnd.oci.artifact.manifest.v1+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
} as const;

const indexes = new Set<string>([mediaTypes.ociIndex, mediaTypes.dockerList]);
const known = new Set<string>(Object.values(mediaTypes));
export const isIndex = (mediaType: string) => indexes.has(mediaType);

/**
 * Limits of an index: manifests below it, each counted as often as it is listed, and levels. Deleting and listing images walks them, and a
 * few kilobytes that lead to millions of manifests would delay every other tenant.
 */
export const indexLimits = { manifests: 1_000, depth: 4 };

export interface ContentRef {
  digest: string;
  size: number;
}

/** The parsed properties of a manifest; its bytes are stored unchanged. */
export interface Manifest {
  mediaType: string;
  artifactType: string | undefined;
  configType: string | undefined;
  subject: string | undefined;
  annotations: Record<string, string> | undefined;
  /** Blobs that must be in the registry, and layers that may be elsewhere (non-distributable). */
  blobs: (ContentRef & { elsewhere: boolean })[];
  children: ContentRef[];
}

/**
 * Database space of a manifest besides its bytes: its row with indexes, and a row for each blob or manifest that it names. Roughly what
 * PostgreSQL uses, with long digests.
 */
export const rowBytes = { manifest: 1024, reference: 512 };

/** The weight of a manifest in the quota, counted in every repository that has it. Annotations are stored twice. */
export const weightOf = ({ annotations, blobs, children }: Manifest, size: number): number =>
  size +
  (annotations ? Buffer.byteLength(JSON.stringify(annotations)) : 0) +
  rowBytes.manifest +
  rowBytes.reference * (blobs.length + children.length);

/** An error sentence for the client that pushed the manifest. */
export class ManifestInvalid extends Error {}

const refuse = (sentence: string): never => {
  throw new ManifestInvalid(sentence);
};

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Parses a manifest of any supported type. The depth of an index is checked when it is stored, since its children are separate manifests.
 */
export function parseManifest(body: Buffer, contentType: string | undefined): Manifest {
  const doc = jsonOf(body);
  if (doc['schemaVersion'] !== 2)
    refuse(
      doc['schemaVersion'] === 1
        ? 'manifests of schema 1 are not taken; push the image with a client of this decade'
        : 'schemaVersion must be 2',
    );
  const declared = contentType?.split(';')[0]?.trim().toLowerCase() || undefined;
  const inside = optionalText(doc, 'mediaType');
  if (inside !== undefined && declared !== undefined && inside !== declared)
    refuse(`Content-Type says ${declared} and mediaType says ${inside}; send the same in both`);
  const mediaType = declared ?? inside ?? (Array.isArray(doc['manifests']) ? mediaTypes.ociIndex : mediaTypes.ociManifest);
  if (!known.has(mediaType)) refuse(`${mediaType} is no type of manifest; use ${[...known].join(', ')}`);

  const manifest: Manifest = {
    mediaType,
    artifactType: optionalText(doc, 'artifactType'),
    configType: undefined,
    subject: doc['subject'] === undefined || doc['subject'] === null ? undefined : descriptor(doc['subject'], 'subject').digest,
    annotations: annotationsOf(doc['annotations']),
    blobs: [],
    children: [],
  };
  if (isIndex(mediaType)) {
    if (doc['config'] !== undefined || doc['layers'] !== undefined) refuse('an index has manifests, no config and no layers');
    manifest.children = unique(list(doc, 'manifests').map((d, i) => descriptor(d, `manifests[${i}]`)));
    if (manifest.children.length > indexLimits.manifests)
      refuse(`an index lists at most ${indexLimits.manifests} manifests, not ${manifest.children.length}; push several`);
    return checkTotalSize(manifest);
  }
  if (mediaType === mediaTypes.ociArtifact) {
    manifest.blobs = unique(list(doc, 'blobs', []).map((d, i) => layer(d, `blobs[${i}]`)));
    return checkTotalSize(manifest);
  }
  if (doc['manifests'] !== undefined) refuse('an image has config and layers, no manifests');
  const config = descriptor(doc['config'], 'config');
  manifest.configType = optionalText(doc['config'] as Json, 'mediaType');
  manifest.blobs = unique([{ ...config, elsewhere: false }, ...list(doc, 'layers').map((d, i) => layer(d, `layers[${i}]`))]);
  return checkTotalSize(manifest);
}

/** Cap on displayed content sizes: larger numbers are not exact. Old data, and an index of several very large images, may exceed it. */
export const maxContentBytes = Number.MAX_SAFE_INTEGER;

/** The sizes of foreign layers are claims of the client; their sum must still be an exact number. */
function checkTotalSize(manifest: Manifest): Manifest {
  const sum = [...manifest.blobs, ...manifest.children].reduce((bytes, { size }) => bytes + size, 0);
  return sum <= maxContentBytes ? manifest : refuse(`the sizes in the manifest come to more than ${maxContentBytes} bytes; correct them`);
}

/** The artifact type in a list of referrers: an image's own type, or that of its config. An index without a type has none. */
export const artifactTypeOf = ({
  mediaType,
  artifactType,
  configType,
}: {
  mediaType: string;
  artifactType?: string | null | undefined;
  configType?: string | null | undefined;
}) => artifactType ?? (isIndex(mediaType) ? undefined : (configType ?? undefined));

function jsonOf(body: Buffer): Json {
  let doc: unknown;
  try {
    doc = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    refuse('the manifest is not JSON');
  }
  return isObject(doc) ? doc : refuse('the manifest is not a JSON object');
}

function descriptor(value: unknown, where: string): ContentRef {
  if (!isObject(value)) return refuse(`${where} must be a descriptor`);
  const { digest, size, mediaType } = value;
  if (typeof mediaType !== 'string' || !mediaType) refuse(`${where}.mediaType must be a text`);
  if (typeof digest !== 'string' || !isDigest(digest))
    return refuse(`${where}.digest must be sha256: or sha512: and its hexadecimal digits`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return refuse(`${where}.size must be a number of bytes`);
  return { digest, size };
}

function layer(value: unknown, where: string): ContentRef & { elsewhere: boolean } {
  const needed = descriptor(value, where);
  const { mediaType, urls } = value as { mediaType: string; urls?: unknown };
  const elsewhere = /\.nondistributable\.|\.foreign\./.test(mediaType) || (Array.isArray(urls) && urls.length > 0);
  return { ...needed, elsewhere };
}

function list(doc: Json, key: string, fallback?: unknown[]): unknown[] {
  const value = doc[key] ?? fallback;
  return Array.isArray(value) ? value : refuse(`${key} must be a list`);
}

function optionalText(doc: Json, key: string): string | undefined {
  const value = doc[key];
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' && value.length <= 255 && !hasControl(value)
    ? value
    : refuse(`${key} must be a text of at most 255 characters`);
}

function annotationsOf(value: unknown): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return refuse('annotations must be an object of texts');
  for (const [key, text] of Object.entries(value)) if (typeof text !== 'string') refuse(`the annotation ${key} must be a text`);
  return value as Record<string, string>;
}

const hasControl = (text: string) => [...text].some((c) => c < ' ' || c === '\u007f');

/** One entry per digest. A digest that is listed both as distributable and as foreign must be in the registry. */
function unique<T extends ContentRef & { elsewhere?: boolean }>(all: T[]): T[] {
  const byDigest = new Map<string, T>();
  for (const needed of all) {
    const seen = byDigest.get(needed.digest);
    if (!seen || (seen.elsewhere && !needed.elsewhere)) byDigest.set(needed.digest, needed);
  }
  return [...byDigest.values()];
}
