import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { readCatalog } from '../engine/catalog.ts';
import type { OpenClusters } from '../open.ts';
import { versionViews } from '../views/version.ts';

export const listClusterVersions = operation(clusters.listClusterVersions, async ({ ctx }, own: OpenClusters) =>
  ok({ versions: versionViews(await ctx.read((tx) => readCatalog(tx, own, ctx.org))) }),
);
