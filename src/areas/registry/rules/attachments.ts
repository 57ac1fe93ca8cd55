/** What is attached to an image, told by the types of what refers to it, and by the tags that older signers leave instead. */
export interface Attachments {
  signatures: number;
  sboms: number;
}

const signature = /cosign\.artifact\.sig|cosign\.simplesigning|notary\.signature|sigstore\.bundle/;
const sbom = /spdx|cyclonedx|syft|artifact\.sbom/;

export function attachmentsOf(referrerTypes: readonly string[], attachedTags: readonly string[]): Attachments {
  return {
    signatures: referrerTypes.filter((t) => signature.test(t)).length + attachedTags.filter((t) => t.endsWith('.sig')).length,
    sboms: referrerTypes.filter((t) => sbom.test(t)).length + attachedTags.filter((t) => t.endsWith('.sbom')).length,
  };
}
