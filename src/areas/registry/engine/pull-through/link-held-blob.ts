import type { RepositoryRow } from '../../store/repositories.ts';
import { declaredSize } from '../../store/upstreams.ts';
import { mountBlob } from '../push/uploads.ts';
import type { Upstreams } from './types.ts';

/**
 * Links a blob that another repository of the registry has, like a mount, instead of fetching it. An image of the cached repository must
 * name the blob and the caller must be able to pull it there. Otherwise the author of an upstream image could expose other repositories'
 * blobs.
 */
export async function linkHeldBlob(
  upstreams: Upstreams,
  repository: RepositoryRow,
  digest: string,
  mayPull: (repository: string) => boolean,
): Promise<boolean> {
  const named = await upstreams.app.db.read((tx) => declaredSize(tx, repository.id, digest));
  return named !== undefined && mountBlob(upstreams, repository, digest, { mayPull }, { cached: true });
}
