/** A member of a cluster's etcd, as its file on the disk has it. Names are never reused. */
export interface MemberRecord {
  name: string;
  /** Of gRPC, which apiservers use. */
  clientPort: number;
  /** Of the HTTP gateway, which we use: etcd advises against one port for both. */
  gatewayPort: number;
  peerPort: number;
  /** `--initial-cluster`, which a member reads only while it has no data. */
  initial: string;
  /** Made with the store itself; others join it. */
  isFirst: boolean;
  /** It has answered once, so it has data. */
  hasStarted: boolean;
}

/** The members of one generation of a store. */
export interface MembersFile {
  token: string;
  /** The number of the next member's name. */
  next: number;
  members: MemberRecord[];
}

/** etcd has an odd number of members: an even one tolerates no more failures. */
export function memberCountOf(replicas: number | undefined): 1 | 3 | 5 {
  if (replicas === undefined || replicas <= 1) return 1;
  return replicas <= 3 ? 3 : 5;
}

export const peerUrlOf = ({ peerPort }: Pick<MemberRecord, 'peerPort'>): string => `https://127.0.0.1:${peerPort}`;
export const clientUrlOf = ({ clientPort }: Pick<MemberRecord, 'clientPort'>): string => `https://127.0.0.1:${clientPort}`;

export const gatewayUrlOf = ({ gatewayPort }: Pick<MemberRecord, 'gatewayPort'>): string => `https://127.0.0.1:${gatewayPort}`;

/** Ports of each member. */
export const portsPerMember = 3;

const placeOf = (number: number, ports: readonly number[]) => ({
  name: `m${number}`,
  clientPort: ports[0]!,
  gatewayPort: ports[1]!,
  peerPort: ports[2]!,
});

export const initialClusterOf = (members: readonly { name: string; peerUrl: string }[]): string =>
  members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',');

/** The members of a store that is made now. */
export function firstMembers(token: string, count: number, ports: readonly number[]): MembersFile {
  const places = Array.from({ length: count }, (_, n) => placeOf(n + 1, ports.slice(portsPerMember * n)));
  const initial = initialClusterOf(places.map((each) => ({ name: each.name, peerUrl: peerUrlOf(each) })));
  return { token, next: count + 1, members: places.map((each) => ({ ...each, initial, isFirst: true, hasStarted: false })) };
}

/** A member that joins; it is written down before etcd hears of it. */
export function withJoiner(file: MembersFile, ports: readonly number[]): MembersFile {
  const joiner: MemberRecord = { ...placeOf(file.next, ports), initial: '', isFirst: false, hasStarted: false };
  return { ...file, next: file.next + 1, members: [...file.members, joiner] };
}

export const withMember = (file: MembersFile, name: string, change: Partial<MemberRecord>): MembersFile => ({
  ...file,
  members: file.members.map((each) => (each.name === name ? { ...each, ...change } : each)),
});

export const withoutMember = (file: MembersFile, name: string): MembersFile => ({
  ...file,
  members: file.members.filter((each) => each.name !== name),
});

/** A member as a change of members sees it. */
export interface MemberView {
  name: string;
  /** Known to etcd, by its peer URL. */
  isListed: boolean;
  isLearner: boolean;
  hasStarted: boolean;
  /** Its program runs, and it has a leader. */
  isHealthy: boolean;
  isLeader: boolean;
  /** Its program was started as it is wanted now. */
  isCurrent: boolean;
  /** Its data is gone, or it ended soon after each of its last starts. */
  isLost: boolean;
}

export type MemberStep =
  /** Takes it out of etcd and removes its data. */
  | { kind: 'drop'; name: string }
  /** Continues a join that was begun: adds it as a learner, starts it and promotes it. */
  | { kind: 'join'; name: string }
  | { kind: 'add' }
  /** Restarts it as wanted, after `moveTo` has become the leader in its place. */
  | { kind: 'restart'; name: string; moveTo?: string }
  | { kind: 'wait' };

/**
 * The next change on the way to `wanted` members as they should run; undefined: none is left but the removal of those that are too many. One
 * at a time, and none while a member that counts is not healthy: the majority must hold through each.
 */
export function nextMemberStep(members: readonly MemberView[], wanted: number, isFull = false): MemberStep | undefined {
  const voters = members.filter(({ isListed, isLearner }) => isListed && !isLearner);
  const healthy = voters.filter(({ isHealthy }) => isHealthy);
  if (healthy.length * 2 <= voters.length) return { kind: 'wait' };
  const lost = members.find((each) => each.isLost || (each.hasStarted && !each.isListed));
  // With one member there is no other to take its place from.
  if (lost && members.length > 1) return { kind: 'drop', name: lost.name };
  const joining = members.find(({ isListed, isLearner }) => !isListed || isLearner);
  if (joining) return { kind: 'join', name: joining.name };
  if (healthy.length < voters.length) return { kind: 'wait' };
  const current = voters.filter(({ isCurrent }) => isCurrent);
  if (voters.length < wanted) return { kind: 'add' };
  // A store of one member has no majority without it, so a successor joins and the old one leaves. At its quota the old one would refuse the writes of
  // both, and what has to be written before it leaves: it is restarted, while requests wait.
  if (wanted === 1 && current.length === 0)
    return isFull && members.length === 1 ? { kind: 'restart', name: members[0]!.name } : { kind: 'add' };
  if (wanted === 1) return undefined;
  const outdated = keptMembers(voters, wanted).filter(({ isCurrent }) => !isCurrent);
  const next = outdated.find(({ isLeader }) => !isLeader) ?? outdated[0];
  if (!next) return undefined;
  const successor = next.isLeader ? voters.find(({ name, isCurrent }) => name !== next.name && isCurrent) : undefined;
  return { kind: 'restart', name: next.name, ...(successor ? { moveTo: successor.name } : {}) };
}

/** The members that stay: those that run as wanted before others, and the leader before its followers. */
export function keptMembers<M extends MemberView>(members: readonly M[], wanted: number): M[] {
  const rank = ({ isHealthy, isCurrent, isLeader }: MemberView) => (isHealthy ? 0 : 4) + (isCurrent ? 0 : 2) + (isLeader ? 0 : 1);
  const chosen = new Set([...members].sort((a, b) => rank(a) - rank(b)).slice(0, wanted));
  return members.filter((each) => chosen.has(each));
}
