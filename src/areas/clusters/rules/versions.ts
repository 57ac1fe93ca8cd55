/** The version selects the driver: `v1.36.0+embedded`, or `v1.36.4` for Kubernetes' own binaries. */
export type DriverName = 'embedded' | 'process';

export interface Version {
  major: number;
  minor: number;
  patch: number;
  driver: DriverName;
}

const shape = /^v(\d{1,3})\.(\d{1,4})\.(\d{1,5})(\+embedded)?$/;

/** Undefined for previews and other builds, which are not in the catalog. */
export function parseVersion(text: string): Version | undefined {
  const m = shape.exec(text);
  return m ? { major: Number(m[1]), minor: Number(m[2]), patch: Number(m[3]), driver: m[4] ? 'embedded' : 'process' } : undefined;
}

/** A comparator; it ignores the driver. */
export const compareVersions = (a: Version, b: Version): number => a.major - b.major || a.minor - b.minor || a.patch - b.patch;

export const minorOf = ({ major, minor }: Version): string => `${major}.${minor}`;

/** Parses a kubelet's version: `v1.35.2`, `v1.35.2-eks-1`, `v1.35.2+k3s1`. */
export function parseAgentVersion(text: string): { major: number; minor: number } | undefined {
  const m = /^v?(\d{1,3})\.(\d{1,4})(?:\D|$)/.exec(text);
  return m ? { major: Number(m[1]), minor: Number(m[2]) } : undefined;
}
