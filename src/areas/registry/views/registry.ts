import type { App } from '../../../kernel/app.ts';
import { attachmentsOf } from '../rules/attachments.ts';
import type { ManifestListRow, RepositoryListRow, TagListRow } from '../store/images.ts';
import type { KeyRow } from '../store/keys.ts';
import type { RegistryRow } from '../store/registries.ts';
import type { RuleRow } from '../store/rules.ts';

/** The host that clients log in to: images are HOST/<slug>/<repository>. */
export const dataPlaneHost = (app: App): string => new URL(app.publicUrl()).host;

export const registryView = (r: RegistryRow) => ({
  slug: r.slug,
  displayName: r.display_name,
  region: r.region,
  storageQuotaBytes: r.quota_bytes,
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

export const keyView = (k: KeyRow) => ({
  keyId: k.key_id,
  name: k.name,
  mode: k.mode,
  repoPrefixes: k.prefixes,
  mintedVia: k.minted_via,
  createdAt: k.created_at,
  ...(k.expires_at ? { expiresAt: k.expires_at } : {}),
  ...(k.last_used_at ? { lastUsedAt: k.last_used_at } : {}),
  ...(k.revoked_at ? { revokedAt: k.revoked_at } : {}),
});

export const repositoryView = (r: RepositoryListRow) => ({
  name: r.name,
  tagCount: r.tag_count,
  sizeBytes: r.size_bytes,
  createdAt: r.created_at,
});

export const tagView = (t: TagListRow) => ({ name: t.name, digest: t.digest, manifestSize: t.manifest_size, updatedAt: t.updated_at });

export const manifestView = (m: ManifestListRow) => ({
  digest: m.digest,
  mediaType: m.media_type,
  sizeBytes: m.size_bytes,
  tags: m.tags,
  createdAt: m.created_at,
  ...attachmentsOf(m.referrer_types, m.attached_tags),
});

export const ruleView = (r: RuleRow) => ({
  id: r.id,
  name: r.name,
  issuer: r.issuer,
  audience: r.audience,
  subjectPattern: r.subject_pattern,
  mode: r.mode,
  repoPrefixes: r.prefixes,
  createdAt: r.created_at,
});
