import { type Catalog, defaultVersion, newestFirst, upgradesFrom } from '../rules/catalog.ts';
import { minorOf, parseVersion } from '../rules/versions.ts';

export function versionViews(catalog: Catalog) {
  const byDefault = defaultVersion(catalog);
  return newestFirst(catalog).map(({ version, state, releasedAt, deprecatedAt, endOfLifeAt }) => ({
    version,
    minor: minorOf(parseVersion(version)!),
    state,
    default: version === byDefault,
    ...(releasedAt ? { releasedAt } : {}),
    ...(deprecatedAt ? { deprecatedAt } : {}),
    ...(endOfLifeAt ? { endOfLifeAt } : {}),
    upgradesTo: upgradesFrom(catalog, version).map((entry) => entry.version),
  }));
}
