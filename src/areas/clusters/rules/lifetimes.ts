const day = 86_400;

/** In seconds. */
export const lifetimes = {
  kubeconfig: 3_600,
  joinToken: 900,
  /** A node’s certificate: a node that was away for a few days still comes back by itself. */
  nodeCertificate: 7 * day,
  servingCertificate: 90 * day,
  authority: 3_650 * day,
} as const;

/** A certificate is made anew when it has had two thirds of its life. */
export const renewAfter = (seconds: number): number => Math.floor((seconds * 2) / 3);
