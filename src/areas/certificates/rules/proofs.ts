export const proofTypes = ['http-01', 'tls-alpn-01'] as const;
export type ProofType = (typeof proofTypes)[number];

/** How this installation can prove a name: by plain HTTP where it is answered, by TLS where our listener does it. */
export const offeredProofs = ({ isHttpAnswered, isTlsOurs }: { isHttpAnswered: boolean; isTlsOurs: boolean }): ProofType[] =>
  proofTypes.filter((type) => (type === 'http-01' ? isHttpAnswered : isTlsOurs));

/** The first that both sides can do; after a failure the other one, if there is another. */
export function chooseProof(ours: readonly ProofType[], theirs: readonly string[], failed: string | null): ProofType | undefined {
  const possible = ours.filter((type) => theirs.includes(type));
  return possible.find((type) => type !== failed) ?? possible[0];
}
