import type { EtcdClient, EtcdStatus } from '../../clients/etcd.ts';
import type { ProgramRecord } from '../../clients/programs.ts';
import type { MemberRecord, MembersFile } from '../../rules/etcd/members.ts';
import type { WantedProgram } from '../../rules/programs.ts';

/** A member of a cluster's etcd whose program this server runs. */
export interface RunningMember {
  name: string;
  record: ProgramRecord;
  /** As it was started, or adopted. */
  wanted: WantedProgram;
  client: EtcdClient;
  /** As last seen; undefined: it did not answer. */
  status: EtcdStatus | undefined;
  unansweredProbes: number;
  isDefragmenting: boolean;
  /** Stops watching for its end; undefined: it is not watched. */
  unwatch: (() => void) | undefined;
}

/** The generation of a cluster's etcd that this server runs. */
export interface RunningEtcd {
  generation: number;
  dir: string;
  file: MembersFile;
  members: Map<string, RunningMember>;
  /** The members that apiservers use, or will use once they are ready. */
  endpoints: readonly MemberRecord[];
  /** Of a member that could not be started. */
  startFailure: unknown;
  quotaBytes: number;
  /** Undefined: it is not known yet whether the cluster has the policy of a full store. */
  isFull: boolean | undefined;
  /** By this server, because the store was full; `at` by the monotonic clock. */
  compacted: { revision: number; at: number };
  /** By the monotonic clock. */
  defragmentedAt: number;
}
