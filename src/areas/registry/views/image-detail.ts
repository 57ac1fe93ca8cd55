import { type AttachmentKind, kindOfAttachment } from '../rules/attachments.ts';
import { contentsOf, type Layer, listedIn, type PurgePreview } from '../rules/image-contents.ts';
import type { AttachmentRow, ChildRow, ImageRow } from '../store/images.ts';

interface Described {
  image: ImageRow;
  /** Of an index. */
  children: readonly ChildRow[] | undefined;
  attachments: readonly AttachmentRow[];
  purge: PurgePreview;
  /** Of an image that is no index. */
  platform: string | undefined;
}

export function imageView({ image, children, attachments, purge, platform }: Described) {
  const { listedBy, immutableTag, ...counted } = purge;
  const listed = children ? listedViews(image, children) : { platforms: [ownPlatform(image, platform)], attested: [] };
  return {
    digest: image.digest,
    mediaType: image.media_type,
    ...(image.artifact_type === null ? {} : { artifactType: image.artifact_type }),
    sizeBytes: image.size_bytes,
    createdAt: image.created_at,
    ...(image.pulled_at === null ? {} : { pulledAt: image.pulled_at }),
    tags: image.tags,
    ...(image.subject === null ? {} : { subject: image.subject }),
    platforms: listed.platforms,
    attachments: [...attachments.map(attachmentView), ...listed.attested],
    purge: { ...counted, ...(listedBy ? { listedBy } : {}), ...(immutableTag ? { immutableTag } : {}) },
  };
}

const layerView = ({ digest, mediaType, size }: Layer) => ({ digest, mediaType, sizeBytes: size });
const layersIn = (body: Buffer | null) => (body ? contentsOf(body).layers.map(layerView) : []);

const ownPlatform = (image: ImageRow, platform: string | undefined) => ({
  digest: image.digest,
  ...(platform ? { platform } : {}),
  isHere: true,
  sizeBytes: image.size_bytes,
  layers: layersIn(image.body),
});

/** In the order of the index, where it could be read. */
function listedViews(image: ImageRow, children: readonly ChildRow[]) {
  const byDigest = new Map(children.map((child) => [child.digest, child]));
  const told = image.body ? listedIn(image.body) : [];
  const known = new Set(told.map(({ digest }) => digest));
  const all = [
    ...told,
    ...children.filter(({ digest }) => !known.has(digest)).map(({ digest }) => ({ digest, platform: undefined, isAttestation: false })),
  ];
  const platforms = all.flatMap(({ digest, platform, isAttestation }) => {
    const child = byDigest.get(digest);
    if (!child || isAttestation) return [];
    return [
      {
        digest,
        ...(platform ? { platform } : {}),
        isHere: child.is_here,
        ...(child.size_bytes === null ? {} : { sizeBytes: child.size_bytes }),
        layers: layersIn(child.body),
      },
    ];
  });
  const attested = all.flatMap(({ digest, isAttestation }) => {
    const child = byDigest.get(digest);
    if (!child?.body || !isAttestation) return [];
    const { statements } = contentsOf(child.body);
    return statements.map(({ kind, type }) => ({ digest, kind, type, sizeBytes: child.size_bytes ?? 0, createdAt: image.created_at }));
  });
  return { platforms, attested };
}

const attachmentView = (a: AttachmentRow) => ({
  digest: a.digest,
  kind: kindOfAttached(a),
  type: a.type,
  ...(a.tag === null ? {} : { tag: a.tag }),
  sizeBytes: a.size_bytes,
  createdAt: a.created_at,
});

const byEnding: Record<string, AttachmentKind> = { sig: 'signature', sbom: 'sbom', att: 'attestation' };

const kindOfAttached = ({ tag, type }: AttachmentRow): AttachmentKind =>
  (tag === null ? undefined : byEnding[tag.slice(tag.lastIndexOf('.') + 1)]) ?? kindOfAttachment(type);
