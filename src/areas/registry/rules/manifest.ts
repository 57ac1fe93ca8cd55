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

/** How far an index may lead: so many manifests, each counted as often as it is listed, and so many levels below it. Whoever deletes
 *  or lists images walks along them, and a few kilobytes that lead to millions would keep everybody else waiting. */
export const indexBounds = { manifests: 1_000, depth: 4 };

export interface Needed {
  digest: string;
  size: number;
}

/** What the registry must know of a manifest; its bytes are kept as they came. */
export interface Manifest {
  mediaType: string;
  artifactType: string | undefined;
  configType: string | undefined;
  subject: string | undefined;
  annotations: Record<string, string> | undefined;
  /** Blobs that must be here, and layers that may be elsewhere (non-distributable). */
  blobs: (Needed & { elsewhere: boolean })[];
  children: Needed[];
}

/** What a manifest's rows take in the database besides its bytes: its own row with its indexes, and one for each blob or manifest that
 *  it names. About what PostgreSQL needs for them, with the longer digests. */
export const rowBytes = { manifest: 1024, reference: 512 };

/** What a manifest counts in the quota of its registry, in every repository in which it stands. Annotations are kept twice. */
export const weightOf = ({ annotations, blobs, children }: Manifest, size: number): number =>
  size +
  (annotations ? Buffer.byteLength(JSON.stringify(annotations)) : 0) +
  rowBytes.manifest +
  rowBytes.reference * (blobs.length + children.length);

/** A sentence for whoever pushed it. */
export class ManifestInvalid extends Error {}

const refuse = (sentence: string): never => {
  throw new ManifestInvalid(sentence);
};

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads a manifest of any type that registries take; how deep an index leads is seen when it is stored, since its
 *  children are manifests of their own. */
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
    if (manifest.children.length > indexBounds.manifests)
      refuse(`an index lists at most ${indexBounds.manifests} manifests, not ${manifest.children.length}; push several`);
    return withinReason(manifest);
  }
  if (mediaType === mediaTypes.ociArtifact) {
    manifest.blobs = unique(list(doc, 'blobs', []).map((d, i) => layer(d, `blobs[${i}]`)));
    return withinReason(manifest);
  }
  if (doc['manifests'] !== undefined) refuse('an image has config and layers, no manifests');
  const config = descriptor(doc['config'], 'config');
  manifest.configType = optionalText(doc['config'] as Json, 'mediaType');
  manifest.blobs = unique([{ ...config, elsewhere: false }, ...list(doc, 'layers').map((d, i) => layer(d, `layers[${i}]`))]);
  return withinReason(manifest);
}

/** What something is with all that it leads to is never shown as more: larger numbers are no longer exact. Data from before, and an index
 *  of several very large images, may come to more. */
export const mostContentBytes = Number.MAX_SAFE_INTEGER;

/** Sizes of layers that are elsewhere are whatever somebody wrote: together they must still be a number. */
function withinReason(manifest: Manifest): Manifest {
  const sum = [...manifest.blobs, ...manifest.children].reduce((bytes, { size }) => bytes + size, 0);
  return sum <= mostContentBytes ? manifest : refuse(`the sizes in the manifest come to more than ${mostContentBytes} bytes; correct them`);
}

/** What a listing of referrers shows: an image's own type, or that of its config when it has none; an index shows none. */
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

function descriptor(value: unknown, where: string): Needed {
  if (!isObject(value)) return refuse(`${where} must be a descriptor`);
  const { digest, size, mediaType } = value;
  if (typeof mediaType !== 'string' || !mediaType) refuse(`${where}.mediaType must be a text`);
  if (typeof digest !== 'string' || !isDigest(digest))
    return refuse(`${where}.digest must be sha256: or sha512: and its hexadecimal digits`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return refuse(`${where}.size must be a number of bytes`);
  return { digest, size };
}

function layer(value: unknown, where: string): Needed & { elsewhere: boolean } {
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

/** One entry a digest. A digest that is both distributable and not must be here. */
function unique<T extends Needed & { elsewhere?: boolean }>(all: T[]): T[] {
  const byDigest = new Map<string, T>();
  for (const needed of all) {
    const seen = byDigest.get(needed.digest);
    if (!seen || (seen.elsewhere && !needed.elsewhere)) byDigest.set(needed.digest, needed);
  }
  return [...byDigest.values()];
}
