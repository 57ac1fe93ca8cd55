import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../../../cluster-error.ts';
import type { EtcdKeys } from '../../../keys.ts';
import { type EtcdClient, type EtcdMember, openEtcdClient } from '../../clients/etcd.ts';
import { findLastingPorts, isRunning, type ProgramRecord, readRecords, stopProgram } from '../../clients/programs.ts';
import { hasData, ownMemberDir, removeMemberDir, writeMembers } from '../../clients/store-directory.ts';
import { watchEnd } from '../../clients/watch-end.ts';
import * as rules from '../../rules/etcd/members.ts';
import { type EtcdSpec, type RunSpec, wantEtcd } from '../../rules/programs.ts';
import { ensureProgram } from '../ensure-program.ts';
import type { ProcessPlane } from '../state.ts';
import { forgetMember, openGeneration } from './generation.ts';
import { isHealthy, isLeader, isStuck, probeMembers, spaceAlarms } from './probe.ts';
import type { RunningEtcd, RunningMember } from './state.ts';

const limits = {
  startTimeoutMs: 60_000,
  /** A learner copies the whole store first. */
  joinTimeoutMs: 600_000,
  probeTimeoutMs: 5_000,
  lastProbeMs: 10_000,
  pauseMs: 50,
  /** Members that ended so often soon after their starts are replaced by others. */
  lostAfterExits: 3,
};

/** Starts or adopts the members of the wanted generation, made first if it is not there, and returns once a majority of them answers. */
export async function ensureEtcd(plane: ProcessPlane, run: RunSpec, store: EtcdSpec, keys: EtcdKeys): Promise<RunningEtcd> {
  const etcd = await openGeneration(plane, store, keys);
  const begun = etcd.file.members.filter(({ isFirst, hasStarted }) => isFirst || hasStarted);
  const started = await Promise.allSettled(begun.map((member) => startMember(plane, run, store, member, keys)));
  const failed = started.filter((each) => each.status === 'rejected');
  if (failed.length === begun.length) throw failed[0]!.reason;
  etcd.startFailure = failed[0]?.reason;
  return etcd;
}

/** Starts a member's program unless it runs, however it was started: restarts are steps of their own. */
async function startMember(
  plane: ProcessPlane,
  run: RunSpec,
  store: EtcdSpec,
  member: rules.MemberRecord,
  keys: EtcdKeys,
): Promise<RunningMember> {
  const wanted = wantEtcd(run, store, member, plane.etcd!.file.token);
  const known = (await readRecords(plane.directory!.dir)).find(({ name }) => name === wanted.name);
  if (known) await stopIfStuck(plane, member.name, known);
  const isThere = known !== undefined && (await isRunning(known));
  if (!isThere) {
    const dir = join(store.dir, member.name);
    if (member.hasStarted && !(await hasData(dir))) throw new ClusterError(`the data of the datastore’s member ${member.name} is gone`);
    await ownMemberDir(dir, plane.directory!.identity.owner);
  }
  const record = isThere ? known : await ensureProgram(plane, wanted);
  return keepMember(plane, member, record, { ...wanted, hash: record.hash }, keys);
}

/** A member that missed several probes gets one last, longer probe before it is stopped. */
async function stopIfStuck({ etcd, directory }: ProcessPlane, name: string, record: ProgramRecord): Promise<void> {
  const member = etcd!.members.get(name);
  if (!member || !isStuck(member) || !(await isRunning(record))) return;
  member.status = await member.client.status(limits.lastProbeMs).catch(() => undefined);
  if (!member.status) await stopProgram(directory!.dir, record);
  else member.unansweredProbes = 0;
}

/** Notes a running member. */
function keepMember(
  plane: ProcessPlane,
  member: rules.MemberRecord,
  record: ProgramRecord,
  wanted: RunningMember['wanted'],
  keys: EtcdKeys,
): RunningMember {
  const etcd = plane.etcd!;
  const { name } = member;
  const known = etcd.members.get(name);
  if (known?.record.pid === record.pid && known.record.started === record.started) return known;
  forgetMember(etcd, name);
  const made: RunningMember = {
    name,
    record,
    wanted,
    client: openEtcdClient(member, keys),
    status: undefined,
    unansweredProbes: 0,
    isDefragmenting: false,
    unwatch: undefined,
  };
  etcd.members.set(name, made);
  return made;
}

/** Watches a member that answers: requests wait while one has ended that they may need. */
function watchMember(plane: ProcessPlane, member: RunningMember, gatewayPort: number, keys: EtcdKeys): void {
  member.unwatch ??= watchEnd(gatewayPort, keys, () => {
    member.unwatch = undefined;
    plane.memberEnded(member);
  });
}

/** Stops a member's program on purpose. Requests wait for the only one. */
async function endMember(plane: ProcessPlane, etcd: RunningEtcd, name: string, { isOnlyOne = false } = {}): Promise<void> {
  const { dir } = plane.directory!;
  const member = etcd.members.get(name);
  member?.unwatch?.();
  const wantedName = `etcd-${etcd.generation}-${name}`;
  for (const record of await readRecords(dir)) if (record.name === wantedName) await stopProgram(dir, record);
  if (member && isOnlyOne) plane.memberEnded(member);
  forgetMember(etcd, name);
}

/** Waits until a majority of the members has a leader. Throws if that takes too long, or if a majority has ended. */
export async function waitForMajority(plane: ProcessPlane, keys: EtcdKeys): Promise<void> {
  const etcd = plane.etcd!;
  const deadline = performance.now() + limits.startTimeoutMs;
  for (;;) {
    plane.stopping.signal.throwIfAborted();
    await probeMembers(etcd);
    const voting = [...etcd.members.values()].filter((each) => isHealthy(each) && !each.status!.isLearner);
    const counted = await countVoters(etcd, voting[0]);
    if (voting.length * 2 > counted) break;
    const running = await Promise.all([...etcd.members.values()].map(({ record }) => isRunning(record)));
    if (running.filter(Boolean).length * 2 <= counted)
      throw etcd.startFailure ?? new ClusterError('etcd ended while it started; it is tried again');
    if (performance.now() > deadline) throw new ClusterError('its datastore does not answer; it is tried again');
    await sleep(limits.pauseMs);
  }
  await noteStarted(plane, keys);
}

/** As etcd says: of a member that it had lost when the server was killed, the file does not know so yet. */
async function countVoters({ file }: RunningEtcd, able: RunningMember | undefined): Promise<number> {
  const listed = await able?.client.members().catch(() => undefined);
  if (listed) return listed.filter(({ isLearner }) => !isLearner).length;
  return file.members.filter(({ isFirst, hasStarted }) => isFirst || hasStarted).length;
}

/** Writes down who has data, and begins to watch them. */
async function noteStarted(plane: ProcessPlane, keys: EtcdKeys): Promise<void> {
  const etcd = plane.etcd!;
  for (const member of etcd.file.members) {
    const running = etcd.members.get(member.name);
    if (!running || !isHealthy(running)) continue;
    watchMember(plane, running, member.gatewayPort, keys);
    if (!member.hasStarted) await changeFile(etcd, rules.withMember(etcd.file, member.name, { hasStarted: true }));
  }
}

async function changeFile(etcd: RunningEtcd, file: rules.MembersFile): Promise<void> {
  await writeMembers(etcd.dir, file);
  etcd.file = file;
}

/** Brings the members to what is wanted, one change at a time, each of which waits until the member answers. Those that are too many stay until
 *  `removeSurplus`. */
export async function settleMembers(plane: ProcessPlane, run: RunSpec, store: EtcdSpec, keys: EtcdKeys): Promise<void> {
  const etcd = plane.etcd!;
  const deadline = performance.now() + limits.joinTimeoutMs;
  for (;;) {
    plane.stopping.signal.throwIfAborted();
    const views = await viewMembers(plane, run, store);
    const step = rules.nextMemberStep(views, store.wantedMembers, etcd.isFull === true || spaceAlarms(etcd).size > 0);
    if (!step) {
      const kept = new Set(rules.keptMembers(views, store.wantedMembers).map(({ name }) => name));
      etcd.endpoints = etcd.file.members.filter(({ name }) => kept.has(name));
      return;
    }
    if (performance.now() > deadline)
      throw new ClusterError('the members of its datastore could not be changed in time; it is tried again');
    if (step.kind !== 'wait') plane.app.log.info({ cluster: plane.parts.cluster().id, ...step }, 'the members of a cluster’s etcd change');
    await takeStep(plane, run, store, keys, step);
  }
}

async function takeStep(plane: ProcessPlane, run: RunSpec, store: EtcdSpec, keys: EtcdKeys, step: rules.MemberStep): Promise<void> {
  const etcd = plane.etcd!;
  if (step.kind === 'wait') return waitOrFail(plane, etcd);
  if (step.kind === 'drop') return dropMember(plane, etcd, step.name);
  if (step.kind === 'restart') return restartMember(plane, run, store, keys, step);
  if (step.kind === 'add') {
    return changeFile(etcd, rules.withJoiner(etcd.file, await findLastingPorts(rules.portsPerMember)));
  }
  await joinMember(plane, run, store, keys, step.name);
}

/** While all run, they may become healthy by themselves; one that has ended is started by the next apply. */
async function waitOrFail(plane: ProcessPlane, { members }: RunningEtcd): Promise<void> {
  plane.stopping.signal.throwIfAborted();
  for (const { record } of members.values())
    if (!(await isRunning(record))) throw new ClusterError('a member of its datastore ended; it is started again');
  await sleep(limits.pauseMs);
}

/** Any member that has a leader answers for all. */
function anyClient(etcd: RunningEtcd): EtcdClient {
  const [member] = [...etcd.members.values()].filter((each) => isHealthy(each) && !each.status!.isLearner);
  if (!member) throw new ClusterError('its datastore has no majority of its members; it is tried again');
  return member.client;
}

const memberOfFile = ({ file }: RunningEtcd, name: string): rules.MemberRecord => file.members.find((each) => each.name === name)!;
const listedAs = (listed: readonly EtcdMember[], member: rules.MemberRecord) =>
  listed.find(({ peerUrl }) => peerUrl === rules.peerUrlOf(member));

async function viewMembers(plane: ProcessPlane, run: RunSpec, store: EtcdSpec): Promise<rules.MemberView[]> {
  const etcd = plane.etcd!;
  await probeMembers(etcd);
  const client = anyClient(etcd);
  const listed = await retryWhileUnsettled(plane, () => client.members());
  // A server that was killed between two steps may have left a member that no file names; it never had data.
  const known = new Set(etcd.file.members.map(rules.peerUrlOf));
  for (const stray of listed) if (!known.has(stray.peerUrl) && stray.name === '') await client.remove(stray.id);
  return Promise.all(
    etcd.file.members.map(async (member): Promise<rules.MemberView> => {
      const [running, found] = [etcd.members.get(member.name), listedAs(listed, member)];
      return {
        name: member.name,
        isListed: found !== undefined,
        isLearner: found?.isLearner === true,
        hasStarted: member.hasStarted,
        isHealthy: running !== undefined && isHealthy(running),
        isLeader: running !== undefined && isLeader(running),
        isCurrent: running?.record.hash === wantEtcd(run, store, member, etcd.file.token).hash,
        isLost: await isLost(plane, etcd, member),
      };
    }),
  );
}

async function isLost(plane: ProcessPlane, etcd: RunningEtcd, { name, hasStarted }: rules.MemberRecord): Promise<boolean> {
  if (!hasStarted) return false;
  const exits = plane.backoffs.get(`etcd-${etcd.generation}-${name}`)?.consecutiveExits ?? 0;
  const running = etcd.members.get(name);
  const isThere = running !== undefined && (await isRunning(running.record));
  return !isThere && (exits >= limits.lostAfterExits || !(await hasData(join(etcd.dir, name))));
}

/** Takes a member out of etcd, then stops it and removes its data. */
async function dropMember(plane: ProcessPlane, etcd: RunningEtcd, name: string): Promise<void> {
  const client = [...etcd.members.values()].find((each) => each.name !== name && isHealthy(each) && !each.status!.isLearner)?.client;
  if (!client) throw new ClusterError('its datastore has no majority of its members; it is tried again');
  etcd.members.get(name)?.unwatch?.();
  const found = listedAs(await client.members(), memberOfFile(etcd, name));
  if (found) await retryWhileUnsettled(plane, () => client.remove(found.id));
  await endMember(plane, etcd, name);
  await removeMemberDir(join(etcd.dir, name));
  await changeFile(etcd, rules.withoutMember(etcd.file, name));
  plane.backoffs.delete(`etcd-${etcd.generation}-${name}`);
}

/** Adds a member as a learner, which no majority counts, starts it and promotes it once it has caught up. */
async function joinMember(plane: ProcessPlane, run: RunSpec, store: EtcdSpec, keys: EtcdKeys, name: string): Promise<void> {
  const etcd = plane.etcd!;
  const client = anyClient(etcd);
  let listed = await client.members();
  if (!listedAs(listed, memberOfFile(etcd, name))) {
    await retryWhileUnsettled(plane, () => client.addLearner(rules.peerUrlOf(memberOfFile(etcd, name))));
    listed = await client.members();
  }
  if (!memberOfFile(etcd, name).hasStarted) {
    // Exactly the members that etcd knows, or it refuses to start.
    const initial = rules.initialClusterOf(listed.map((each) => (each.name === '' ? { ...each, name } : each)));
    await changeFile(etcd, rules.withMember(etcd.file, name, { initial }));
  }
  await startMember(plane, run, store, memberOfFile(etcd, name), keys);
  await waitForMember(plane, name);
  await noteStarted(plane, keys);
  const { id } = listedAs(listed, memberOfFile(etcd, name))!;
  await promote(plane, client, id);
}

const failedPrecondition = 9;
const unavailable = 14;

/** etcd refuses a change of its members until all have been connected for 5 s, and any question while its leader changes. */
async function retryWhileUnsettled<T>(plane: ProcessPlane, change: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + limits.startTimeoutMs;
  for (;;) {
    plane.stopping.signal.throwIfAborted();
    try {
      return await change();
    } catch (error) {
      if ((error as { code?: number }).code !== unavailable || performance.now() > deadline) throw error;
      await sleep(10 * limits.pauseMs);
    }
  }
}

async function promote(plane: ProcessPlane, client: EtcdClient, id: string): Promise<void> {
  const deadline = performance.now() + limits.joinTimeoutMs;
  for (;;) {
    plane.stopping.signal.throwIfAborted();
    if ((await client.members()).some((each) => each.id === id && !each.isLearner)) return;
    const refused = await client.promote(id).then(
      () => undefined,
      (error: { code?: number }) => error,
    );
    if (refused === undefined) return;
    if (refused.code !== failedPrecondition && refused.code !== unavailable) throw refused;
    if (performance.now() > deadline) throw new ClusterError('a new member of its datastore did not catch up; it is tried again');
    await sleep(4 * limits.pauseMs);
  }
}

/** Waits until a member has a leader and has applied what the others know now. */
async function waitForMember(plane: ProcessPlane, name: string): Promise<void> {
  const etcd = plane.etcd!;
  const deadline = performance.now() + limits.startTimeoutMs;
  await probeMembers(etcd);
  const known = Math.max(0, ...[...etcd.members.values()].map(({ status }) => status?.appliedIndex ?? 0));
  for (;;) {
    plane.stopping.signal.throwIfAborted();
    const member = etcd.members.get(name)!;
    member.status = await member.client.status(limits.probeTimeoutMs).catch(() => undefined);
    if (isHealthy(member) && (member.status!.isLearner || member.status!.appliedIndex >= known)) return;
    if (!(await isRunning(member.record))) throw new ClusterError('a member of its datastore ended while it started; it is tried again');
    if (performance.now() > deadline) throw new ClusterError('a member of its datastore did not answer in time; it is tried again');
    await sleep(limits.pauseMs);
  }
}

/** A leader hands over first. etcd lets its clients finish their requests when it is asked to stop. */
async function restartMember(
  plane: ProcessPlane,
  run: RunSpec,
  store: EtcdSpec,
  keys: EtcdKeys,
  { name, moveTo }: { name: string; moveTo?: string },
): Promise<void> {
  const etcd = plane.etcd!;
  const successor = moveTo === undefined ? undefined : etcd.members.get(moveTo)?.status?.memberId;
  if (successor !== undefined) await etcd.members.get(name)!.client.moveLeader(successor);
  await endMember(plane, etcd, name, { isOnlyOne: etcd.members.size === 1 });
  await startMember(plane, run, store, memberOfFile(etcd, name), keys);
  await waitForMember(plane, name);
  await noteStarted(plane, keys);
}

/** Removes members that no apiserver uses any more. A leader among them hands over first. */
export async function removeSurplus(plane: ProcessPlane): Promise<void> {
  const etcd = plane.etcd!;
  const kept = new Set(etcd.endpoints.map(({ name }) => name));
  await probeMembers(etcd);
  const surplus = etcd.file.members.map(({ name }) => name).filter((name) => !kept.has(name));
  const leads = (name: string) => {
    const member = etcd.members.get(name);
    return member !== undefined && isLeader(member);
  };
  for (const name of surplus.sort((a, b) => Number(leads(a)) - Number(leads(b)))) {
    plane.stopping.signal.throwIfAborted();
    const heir = [...etcd.members.values()].find((each) => kept.has(each.name) && isHealthy(each))?.status?.memberId;
    if (leads(name) && heir !== undefined) await etcd.members.get(name)!.client.moveLeader(heir);
    plane.app.log.info({ cluster: plane.parts.cluster().id, name }, 'a member leaves a cluster’s etcd');
    await dropMember(plane, etcd, name);
    await probeMembers(etcd);
  }
}

/** A member that has ended is started again at once, as it was. */
export async function reviveMember(plane: ProcessPlane, member: RunningMember, keys: EtcdKeys): Promise<void> {
  const etcd = plane.etcd;
  if (!etcd || etcd.members.get(member.name) !== member) return;
  const record = await ensureProgram(plane, member.wanted);
  const place = memberOfFile(etcd, member.name);
  keepMember(plane, place, record, member.wanted, keys);
  await waitForMember(plane, member.name);
  await noteStarted(plane, keys);
}
