import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import * as store from '../../store/mesh.ts';
import { meshDue } from '../channels.ts';

/** Clusters that asked for a mesh before this release had one go on without it until the operator switches it on. `which`: the id, or the name. */
export async function enableMesh(tx: Tx, which: string): Promise<{ id: string; cluster: string }> {
  const found = await store.listMeshes(tx, which);
  const [first, second] = found;
  if (!first) return notFound(`cluster ${which} of programs that asked for a mesh`);
  if (second) return conflict(`several clusters are named ${which}; name one by its id: ${found.map(({ id }) => id).join(', ')}`);
  if (!(await store.insertMesh(tx, first.organization, first.id))) return conflict(`the mesh of ${first.cluster} is on already`);
  wake(tx, meshDue(first.id));
  return first;
}

export const listMeshes = (tx: Tx) => store.listMeshes(tx, null);
