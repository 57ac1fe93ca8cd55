import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type ProgramName = 'kine' | 'etcd' | 'etcdutl' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

export interface Misbehaviour {
  /** Waits so long before it listens. */
  slowStartMs?: number;
  /** Waits before it listens until this is no longer said. */
  heldStart?: boolean;
  /** Ends with status 2 before it has done anything. */
  crashAtStart?: boolean;
  /** Ends with status 2 after so long. */
  crashAfterMs?: number;
  /** Does not hear SIGTERM. */
  deaf?: boolean;
  /** Says that its port is taken, as if another program were faster. */
  portTaken?: boolean;
  /** /readyz never answers 200: it says that a check fails. */
  neverReady?: boolean;
  /** For so long after its start it has no roles: it is not ready, and everybody but masters is told 403. */
  slowRolesMs?: number;
  /** /readyz answers 500 from the moment this is said. */
  readyz500?: boolean;
  /** Writes of this kind, by its plural, are denied as a tenant's webhook denies them. */
  denies?: string;
  /** etcd says that its file has so many bytes until it is compacted and defragmented, or that it takes no writes until its alarm is ended then. */
  storeBytes?: number;
  isFull?: boolean;
  /** One that has left has such an alarm too. */
  formerMember?: string;
  /** etcd's gateway takes requests and answers none. */
  isMute?: boolean;
  /** The copy of a store ends before its last piece. */
  cutSnapshot?: boolean;
  /** Only the program of this version. */
  version?: string;
}

/** What the programs in this folder do from now on: at their next start, and what says so at once. */
export async function misbehave(dir: string, how: Partial<Record<ProgramName, Misbehaviour>>): Promise<void> {
  const path = join(dir, 'misbehave.json');
  await writeFile(`${path}.new`, JSON.stringify(how));
  await rename(`${path}.new`, path);
}

export async function readMisbehaviour(dir: string, name: ProgramName, version: string): Promise<Misbehaviour> {
  const text = await readFile(join(dir, 'misbehave.json'), 'utf8').catch(() => '{}');
  const found = (JSON.parse(text) as Partial<Record<ProgramName, Misbehaviour>>)[name] ?? {};
  return found.version === undefined || found.version === version ? found : {};
}
