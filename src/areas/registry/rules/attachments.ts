import { isIndex } from './manifest.ts';

/** What is attached to an image, told by the types (or predicates) of what refers to it, and by the tags that older signers leave instead. */
export interface Attachments {
  signatures: number;
  sboms: number;
}

// A Sigstore bundle is a signature or any statement that was signed; its predicate, where it names one, says which.
const signature = /cosign\.artifact\.sig|cosign\.simplesigning|notary\.signature|sigstore\.bundle|sigstore\.dev\/cosign\/sign/;
const sbom = /spdx|cyclonedx|syft|artifact\.sbom/;

export function attachmentsOf(referrerTypes: readonly string[], attachedTags: readonly string[]): Attachments {
  return {
    signatures: referrerTypes.filter((t) => signature.test(t)).length + attachedTags.filter((t) => t.endsWith('.sig')).length,
    sboms: referrerTypes.filter((t) => sbom.test(t)).length + attachedTags.filter((t) => t.endsWith('.sbom')).length,
  };
}

// Signatures, attestations and SBOMs belong to an image in two ways: by their `subject`, or by a tag that names the image's digest.
// cosign's tags end in .sig, .att and .sbom; the bare one is an index that lists referrers, for registries without that list.

const attaching = /^(sha(?:256|512)-[a-f0-9]{64})(?:\.(?:sig|att|sbom))?$/;

/** Whether a tag of this name may attach its manifest to an image. */
export const canAttach = (tag: string) => attaching.test(tag);

/** How tags name a digest: `sha256-…`, cut to 64 digits as the specification has it. */
export const nameInTags = (digest: string) => digest.replace(':', '-').slice(0, 'sha256-'.length + 64);

/** The tags that attach something to an image. */
export const attachingTags = (digest: string) => ['', '.sig', '.att', '.sbom'].map((kind) => `${nameInTags(digest)}${kind}`);

/** What tells whether a tag attaches its manifest to an image. */
export interface Tagged {
  digest: string;
  mediaType: string;
  /** The subjects of what an index lists, as far as that is in the repository; '' for what has none. */
  listedSubjects: readonly string[];
}

/** The image, as tags name it, that this tag attaches its manifest to, if anybody has it. Undefined: a tag as any other, such as an
 *  image's own digest, or the hash of the sources that an index was built from. */
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

/** The images, as tags name them, that a manifest says it belongs to, whether or not they are here. */
export const imagesOf = (m: Attachable): string[] => [
  ...(m.subject === null ? [] : [nameInTags(m.subject)]),
  ...m.tags.flatMap((tag) => attachedBy(tag, m) ?? []),
];
