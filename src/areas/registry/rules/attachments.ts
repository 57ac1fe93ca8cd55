import { isIndex } from './manifest.ts';

/** Counts of an image's attachments, by the types (or predicates) of its referrers and by the tags that older signers set. */
export interface Attachments {
  signatures: number;
  sboms: number;
}

// A Sigstore bundle is a signature or a signed statement; its predicate, if any, tells which.
const signature = /cosign\.artifact\.sig|cosign\.simplesigning|notary\.signature|sigstore\.bundle|sigstore\.dev\/cosign\/sign/;
const sbom = /spdx|cyclonedx|syft|artifact\.sbom/;

const attestation = /in-toto|slsa|attest|provenance/;

export type AttachmentKind = 'signature' | 'sbom' | 'attestation' | 'other';

/** What a referrer is, by its type or predicate. */
export function kindOfAttachment(type: string): AttachmentKind {
  if (signature.test(type)) return 'signature';
  if (sbom.test(type)) return 'sbom';
  return attestation.test(type) ? 'attestation' : 'other';
}

export function attachmentsOf(referrerTypes: readonly string[], attachedTags: readonly string[]): Attachments {
  return {
    signatures: referrerTypes.filter((t) => signature.test(t)).length + attachedTags.filter((t) => t.endsWith('.sig')).length,
    sboms: referrerTypes.filter((t) => sbom.test(t)).length + attachedTags.filter((t) => t.endsWith('.sbom')).length,
  };
}

// Signatures, attestations and SBOMs belong to an image in two ways: by `subject`, or by a tag that names the image's digest. cosign's tags
// end in .sig, .att and .sbom. The tag without an ending is an index of referrers, for registries without the referrers API.

const attaching = /^(sha(?:256|512)-[a-f0-9]{64})(?:\.(?:sig|att|sbom))?$/;

/** Whether a tag with this name may attach its manifest to an image. */
export const canAttach = (tag: string) => attaching.test(tag);

/** A digest as tags write it: `sha256-…`, cut to 64 digits as the specification says. */
export const nameInTags = (digest: string) => digest.replace(':', '-').slice(0, 'sha256-'.length + 64);

/** The tags that attach something to an image. */
export const attachingTags = (digest: string) => ['', '.sig', '.att', '.sbom'].map((kind) => `${nameInTags(digest)}${kind}`);

/** The properties that decide whether a tag attaches its manifest to an image. */
export interface Tagged {
  digest: string;
  mediaType: string;
  /** The subjects of an index's children that are in the repository; '' for a child without a subject. */
  listedSubjects: readonly string[];
}

/**
 * The image, in tag notation, to which this tag attaches its manifest. Undefined: an ordinary tag, such as the image's own digest, or the
 * hash of the sources of an index.
 */
export function attachedBy(tag: string, manifest: Tagged): string | undefined {
  const image = attaching.exec(tag)?.[1];
  if (image === undefined || image === nameInTags(manifest.digest)) return undefined;
  if (tag !== image) return image;
  const listsItsReferrers = isIndex(manifest.mediaType) && manifest.listedSubjects.every((subject) => nameInTags(subject) === image);
  return listsItsReferrers ? image : undefined;
}

export interface Attachable extends Tagged {
  subject: string | null;
  tags: readonly string[];
}

/** The images, in tag notation, that a manifest names as its own, whether or not the registry has them. */
export const imagesOf = (m: Attachable): string[] => [
  ...(m.subject === null ? [] : [nameInTags(m.subject)]),
  ...m.tags.flatMap((tag) => attachedBy(tag, m) ?? []),
];
