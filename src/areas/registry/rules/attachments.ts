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
