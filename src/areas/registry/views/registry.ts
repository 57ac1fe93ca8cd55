import type { App } from '../../../kernel/app.ts';
import type { RegistryRow } from '../store/registries.ts';

/** The host that clients log in to: images are HOST/<slug>/<repository>. */
export const dataPlaneHost = (app: App): string => new URL(app.publicUrl()).host;

export const registryView = (r: RegistryRow) => ({
  slug: r.slug,
  displayName: r.display_name,
  region: r.region,
  storageQuotaBytes: r.quota_bytes,
  usedBytes: r.used_bytes,
  createdAt: r.created_at,
});

export const registryDetail = (r: RegistryRow, repositoryCount: number) => ({
  slug: r.slug,
  region: r.region,
  storageQuotaBytes: r.quota_bytes,
  usedBytes: r.used_bytes,
  repositoryCount,
  createdAt: r.created_at,
  displayName: r.display_name,
  immutableTags: r.immutable_tags,
  retention: r.retention,
});
