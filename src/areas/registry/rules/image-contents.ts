import type { AttachmentKind } from './attachments.ts';
import { kindOfAttachment } from './attachments.ts';

// What a stored manifest says of its platforms, layers and statements. Pushes have checked the digests and sizes; everything else in it is the
// client's own words, so each is taken only in the form that it should have.

/** Larger ones are not read to be shown. */
export const readLimits = { manifestBytes: 256 * 1024, totalBytes: 4 * 1024 * 1024, configBytes: 1024 * 1024, children: 100 };

export interface Layer {
  digest: string;
  mediaType: string;
  size: number;
}

export interface Statement {
  kind: AttachmentKind;
  type: string;
}

export interface ImageContents {
  layers: Layer[];
  /** The digest of the configuration of an image that runs. */
  config: string | undefined;
  /** What BuildKit attests in an image of its own: a layer each. */
  statements: Statement[];
}

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const listIn = (doc: Json, key: string): Json[] => (Array.isArray(doc[key]) ? doc[key].filter(isObject) : []);
const textIn = (doc: unknown, key: string): string => {
  const value = isObject(doc) ? doc[key] : undefined;
  return typeof value === 'string' ? value.slice(0, 255) : '';
};

function jsonOf(body: Buffer): Json {
  try {
    const doc: unknown = JSON.parse(body.toString());
    return isObject(doc) ? doc : {};
  } catch {
    return {};
  }
}

export function contentsOf(body: Buffer): ImageContents {
  const doc = jsonOf(body);
  const config = isObject(doc['config']) ? doc['config'] : {};
  const layers = [...listIn(doc, 'layers'), ...listIn(doc, 'blobs')];
  return {
    layers: layers.map((layer) => ({
      digest: textIn(layer, 'digest'),
      mediaType: textIn(layer, 'mediaType'),
      size: typeof layer['size'] === 'number' ? layer['size'] : 0,
    })),
    config: /image\.(config\.)?v1\+json$/.test(textIn(config, 'mediaType')) ? textIn(config, 'digest') : undefined,
    statements: layers.flatMap((layer) => {
      const type = textIn(layer['annotations'], 'in-toto.io/predicate-type');
      return type ? [{ kind: kindOfAttachment(type), type }] : [];
    }),
  };
}

export interface Listed {
  digest: string;
  platform: string | undefined;
  /** BuildKit lists what it attests beside the images; it runs on nothing. */
  isAttestation: boolean;
}

/** What an index lists, in its order. */
export const listedIn = (body: Buffer): Listed[] =>
  listIn(jsonOf(body), 'manifests').map((entry) => ({
    digest: textIn(entry, 'digest'),
    platform: platformIn(entry['platform']),
    isAttestation: textIn(entry['annotations'], 'vnd.docker.reference.type') === 'attestation-manifest',
  }));

/** The platform in the configuration of an image. */
export const platformOf = (config: Buffer): string | undefined => platformIn(jsonOf(config));

function platformIn(value: unknown): string | undefined {
  const parts = ['os', 'architecture', 'variant'].map((key) => textIn(value, key));
  const [os, architecture] = parts;
  if (!os || !architecture || os === 'unknown') return undefined;
  return parts.filter((part) => /^[\w.-]{1,64}$/.test(part)).join('/') || undefined;
}

/** What a purge of the image would take along, and what is in its way. */
export interface PurgePreview {
  manifests: number;
  freedBytes: number;
  isCut: boolean;
  listedBy: string | undefined;
  immutableTag: string | undefined;
}
