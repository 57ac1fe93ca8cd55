import { ClusterError } from '../../cluster-error.ts';
import type { InnerKeys } from '../../keys.ts';
import { writeKeyFiles } from '../clients/directory.ts';
import { generationDirOf, storeDirOf } from '../clients/store-directory.ts';
import { loginOf } from '../rules/database-login.ts';
import { memberLimitsOf, quotaBytesOf } from '../rules/etcd/limits.ts';
import { memberCountOf } from '../rules/etcd/members.ts';
import { type FileSource, filesOf } from '../rules/files.ts';
import type * as rules from '../rules/programs.ts';
import { schemaOf } from '../store/kine.ts';
import { databaseUrl } from './database-url.ts';
import type { ProcessPlane } from './state.ts';

/** What the programs of a cluster are derived from. `schema`: of its kine; a check of a backup has another one. */
export async function describeRun(
  plane: ProcessPlane,
  source: Omit<FileSource, 'egressSocket'>,
  schema = schemaOf(plane.parts.cluster().id, plane.parts.cluster().store_generation),
): Promise<rules.RunSpec> {
  const { parts } = plane;
  const { version, tier, replicas } = parts.cluster();
  const directory = plane.directory!;
  const folder = await parts.binaries.find(version);
  if (folder === undefined)
    throw new ClusterError(
      `the programs of ${version} are not installed on the server that runs it; the operator runs quarterdeck admin clusters install ${version}`,
    );
  return {
    tier,
    replicas,
    inflight: parts.limits().inflight,
    endpoint: parts.endpoint,
    network: parts.network,
    nodeCertificateSeconds: parts.nodeCertificateSeconds,
    store: await describeStore(plane, source.inner, schema),
    user: directory.separateUser?.uid,
    binaries: { dir: folder, kine: parts.binaries.kine },
    keysDir: await writeKeyFiles(directory, filesOf({ ...source, egressSocket: directory.egressSocket })),
  };
}

async function describeStore({ app, parts, directory }: ProcessPlane, inner: InnerKeys, schema: string): Promise<rules.StoreSpec> {
  const { id, store, store_generation, datastore } = parts.cluster();
  if (store === 'kine')
    return {
      kind: 'kine',
      generation: store_generation,
      socket: directory!.kineSocket(store_generation),
      database: databaseUrl(app, schema, loginOf(schema, inner.storeKey)),
    };
  const programs = await parts.binaries.etcd();
  if (!programs)
    throw new ClusterError(
      'etcd is not installed on the server that has its datastore; the operator runs quarterdeck admin clusters install',
    );
  return {
    kind: 'etcd',
    programs,
    generation: store_generation,
    dir: generationDirOf(storeDirOf(app.config.data, id), store_generation),
    wantedMembers: memberCountOf(datastore.replicas),
    quotaBytes: quotaBytesOf(datastore),
    limits: memberLimitsOf(datastore.size),
  };
}
