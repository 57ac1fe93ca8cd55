import { compareVersions, parseVersion, type Version } from './versions.ts';

export type VersionState = 'preview' | 'supported' | 'deprecated' | 'expired';

export interface CatalogEntry {
  version: string;
  state: VersionState;
  releasedAt?: string;
  deprecatedAt?: string;
  endOfLifeAt?: string;
}

export type Catalog = readonly CatalogEntry[];

/** The versions that this program serves by itself. Each answers as that minor of Kubernetes does. */
export const embeddedCatalog: Catalog = [
  { version: 'v1.36.0+embedded', state: 'supported' },
  { version: 'v1.35.0+embedded', state: 'supported' },
  { version: 'v1.34.0+embedded', state: 'deprecated' },
];

const parsed = (entry: CatalogEntry): Version => parseVersion(entry.version)!;

export const newestFirst = (catalog: Catalog): CatalogEntry[] => [...catalog].sort((a, b) => compareVersions(parsed(b), parsed(a)));

/** What a new cluster gets that asks for none: the newest supported one, with Kubernetes' own binaries before ours. */
export function defaultVersion(catalog: Catalog): string | undefined {
  const supported = newestFirst(catalog).filter(({ state }) => state === 'supported');
  return (supported.find((entry) => parsed(entry).driver === 'process') ?? supported[0])?.version;
}

export const findEntry = (catalog: Catalog, version: string): CatalogEntry | undefined => catalog.find((e) => e.version === version);

/** Why a version cannot be asked for, whatever the cluster. */
export function refuseVersion(catalog: Catalog, version: string): string | undefined {
  const entry = findEntry(catalog, version);
  if (!entry) return `orchestratorVersion ${version} is not in the version catalog; GET /api/v1/cluster-versions lists what there is`;
  if (entry.state === 'expired')
    return `orchestratorVersion ${version} is expired; choose one that is supported: GET /api/v1/cluster-versions lists them`;
  return undefined;
}

/** One step up at most, by the same driver, and not expired; newest first. */
export function upgradesFrom(catalog: Catalog, from: string): CatalogEntry[] {
  const current = parseVersion(from);
  if (!current) return [];
  return newestFirst(catalog).filter((entry) => {
    const to = parsed(entry);
    return (
      entry.state !== 'expired' &&
      to.driver === current.driver &&
      to.major === current.major &&
      compareVersions(to, current) > 0 &&
      to.minor - current.minor <= 1
    );
  });
}
