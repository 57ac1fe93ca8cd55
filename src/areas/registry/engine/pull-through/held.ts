import type { RepositoryRow } from '../../store/repositories.ts';
import { promisedSize } from '../../store/upstreams.ts';
import { mountBlob } from '../push/uploads.ts';
import type { Upstreams } from './types.ts';

/** Links what an image of a cached repository names and the registry has elsewhere, as a mount would: nobody fetches it again. The image
 *  must name it, and the caller be able to pull it there: otherwise whoever writes images upstream could bring out what is not theirs. */
export async function linkHeld(
  upstreams: Upstreams,
  repository: RepositoryRow,
  digest: string,
  mayPull: (repository: string) => boolean,
): Promise<boolean> {
  const named = await upstreams.app.db.read((tx) => promisedSize(tx, repository.id, digest));
  return named !== undefined && mountBlob(upstreams, repository, digest, { mayPull }, { cached: true });
}
