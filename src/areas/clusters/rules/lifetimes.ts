const day = 86_400;

/** In seconds. */
export const lifetimes = {
  kubeconfig: 3_600,
  joinToken: 900,
  /** Long enough that a node that was off for a few days can still renew by itself. */
  nodeCertificate: 7 * day,
  servingCertificate: 90 * day,
  authority: 3_650 * day,
} as const;

/** Certificates are renewed at two thirds of their lifetime. */
export const renewAfter = (seconds: number): number => Math.floor((seconds * 2) / 3);
