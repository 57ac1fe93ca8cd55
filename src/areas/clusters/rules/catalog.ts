import { compareVersions, parseVersion, type Version } from './versions.ts';

export type VersionState = 'preview' | 'supported' | 'deprecated' | 'expired';

export interface CatalogEntry {
  version: string;
  state: VersionState;
  releasedAt?: string;
  deprecatedAt?: string;
  endOfLifeAt?: string;
  /** In use by clusters but installed on no server: listed, but not available for new clusters. */
  isMissing?: boolean;
}

export type Catalog = readonly CatalogEntry[];

/** The embedded versions. Each answers like that minor of Kubernetes. */
export const embeddedCatalog: Catalog = [
  { version: 'v1.36.0+embedded', state: 'supported' },
  { version: 'v1.35.0+embedded', state: 'supported' },
  { version: 'v1.34.0+embedded', state: 'deprecated' },
];

/** The newest installed minors that are supported; older ones are deprecated. */
const supportedMinors = 2;

/** Installed versions, versions in use that no server has, and the embedded ones. */
export function catalogOf(installed: readonly string[], inUse: readonly string[]): Catalog {
  const real = [...new Set(installed)].flatMap((version) => {
    const known = parseVersion(version);
    return known?.driver === 'process' ? [{ version, known }] : [];
  });
  const newest = Math.max(...real.map(({ known }) => known.minor));
  const gone = [...new Set(inUse)].filter((version) => parseVersion(version)?.driver === 'process' && !installed.includes(version));
  return [
    ...real.map(
      ({ version, known }): CatalogEntry => ({ version, state: newest - known.minor < supportedMinors ? 'supported' : 'deprecated' }),
    ),
    ...gone.map((version): CatalogEntry => ({ version, state: 'expired', isMissing: true })),
    ...embeddedCatalog,
  ];
}

const parsed = (entry: CatalogEntry): Version => parseVersion(entry.version)!;

export const newestFirst = (catalog: Catalog): CatalogEntry[] => [...catalog].sort((a, b) => compareVersions(parsed(b), parsed(a)));

/** The version of a new cluster that names none: the newest supported one, process versions before embedded ones. */
export function defaultVersion(catalog: Catalog): string | undefined {
  const supported = newestFirst(catalog).filter(({ state }) => state === 'supported');
  return (supported.find((entry) => parsed(entry).driver === 'process') ?? supported[0])?.version;
}

export const findEntry = (catalog: Catalog, version: string): CatalogEntry | undefined => catalog.find((e) => e.version === version);

/** Why a version is unavailable to any cluster. */
export function refuseVersion(catalog: Catalog, version: string): string | undefined {
  const entry = findEntry(catalog, version);
  if (entry?.isMissing)
    return `orchestratorVersion ${version} is not installed on any shard server any more; the operator runs quarterdeck admin clusters install ${version}`;
  if (!entry && parseVersion(version)?.driver === 'process')
    return `orchestratorVersion ${version} is not in the version catalog: no shard server has its programs; GET /api/v1/cluster-versions lists what there is`;
  if (!entry) return `orchestratorVersion ${version} is not in the version catalog; GET /api/v1/cluster-versions lists what there is`;
  if (entry.state === 'expired')
    return `orchestratorVersion ${version} is expired; choose one that is supported: GET /api/v1/cluster-versions lists them`;
  return undefined;
}

/** At most one minor up, same driver, not expired; newest first. */
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
