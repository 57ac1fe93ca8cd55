import { attachmentsOf } from '../rules/attachments.ts';
import type { ManifestListRow, RepositoryListRow, TagListRow } from '../store/images.ts';

export const repositoryView = (r: RepositoryListRow) => ({
  name: r.name,
  tagCount: r.tag_count,
  sizeBytes: r.size_bytes,
  createdAt: r.created_at,
});

export const tagView = (t: TagListRow) => ({
  name: t.name,
  digest: t.digest,
  manifestSize: t.manifest_size,
  sizeBytes: t.size_bytes,
  updatedAt: t.updated_at,
});

export const manifestView = (m: ManifestListRow) => ({
  digest: m.digest,
  mediaType: m.media_type,
  sizeBytes: m.size_bytes,
  tags: m.tags,
  createdAt: m.created_at,
  ...attachmentsOf(m.referrer_types, m.attached_tags),
});
