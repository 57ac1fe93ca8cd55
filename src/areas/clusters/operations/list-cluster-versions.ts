import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { catalog } from '../engine/lifecycle.ts';
import { versionViews } from '../views/version.ts';

export const listClusterVersions = operation(clusters.listClusterVersions, async () => ok({ versions: versionViews(catalog) }));
