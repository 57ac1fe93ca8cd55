import type { ProgramFigures } from '../../../../drivers/driver.ts';
import type { MeshFigures } from '../mesh/index.ts';
import type { RunningCluster } from './run-cluster.ts';

interface Held {
  id: string;
  running: RunningCluster | undefined;
}

/** Programs of these clusters. */
export async function listPrograms(held: Iterable<Held>): Promise<(ProgramFigures & { cluster: string })[]> {
  const found = await Promise.all(
    [...held].map(async ({ id, running }) => ((await running?.plane.programs()) ?? []).map((program) => ({ ...program, cluster: id }))),
  );
  return found.flat();
}

/** Meshes of these clusters. */
export const listMeshes = (held: Iterable<Held>): (MeshFigures & { cluster: string })[] =>
  [...held].flatMap(({ id, running }) => {
    const figures = running?.mesh?.figures();
    return figures ? [{ ...figures, cluster: id }] : [];
  });
