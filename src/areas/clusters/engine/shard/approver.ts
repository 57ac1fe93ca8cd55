import type { ControlPlane } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { findNode, listNodes } from '../../clients/tenant/nodes.ts';
import { decideRequest, isDecided, readRequest, requestsPath, type SigningRequest } from '../../clients/tenant/requests.ts';
import { judgeRequest, maxPerCluster, namesNotOwned, namesOfApi, refuseMore, type Verdict } from '../../rules/requests.ts';
import { tierOf } from '../../rules/tiers.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import { confirmPeer, meshAddressesOfOthers } from '../../store/mesh.ts';
import { countCertificates } from '../../store/nodes.ts';
import { takeJoinToken } from '../../store/tokens.ts';
import { clusterAddressOf } from '../cluster-address.ts';
import { certificateOf, recordCertificates } from '../nodes.ts';
import { readPkcs10 } from './pkcs10.ts';

export interface Approver {
  stop(): Promise<void>;
}

interface ApproverContext {
  app: App;
  plane: ControlPlane;
  cluster: () => ClusterRow;
  /** Called when a node is admitted: from then on the cluster has nodes. */
  onAdmitted: () => void;
  /** Nodes admitted here that may not have registered yet, with the time of admission. */
  admitted: Map<string, number>;
  /** Requests whose certificates are recorded. */
  recordedUids: Set<string>;
}

/** How long an admitted node may take to register. */
const admissionTimeoutMs = 600_000;
const retryDelayMs = 1_000;
/** Queued requests. Above this limit the watch starts again once the queue is empty. */
const maxQueued = 5_000;
const maxNameLength = 253;
const maxRecordedUids = 10_000;

/** Decides the signing requests of nodes, one after the other, for as long as this server holds the cluster. */
export function startApprover(app: App, plane: ControlPlane, cluster: () => ClusterRow, onAdmitted: () => void): Approver {
  const context: ApproverContext = { app, plane, cluster, onAdmitted, admitted: new Map(), recordedUids: new Set() };
  // Only names are queued; a request is read when its turn comes. So the queue stays small however large the requests are.
  const waiting = new Set<string>();
  let hasMore = false;
  let running: Promise<void> | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;

  const workOff = async () => {
    for (let next = waiting.values().next(); !next.done && !stopped; next = waiting.values().next()) {
      const name = next.value;
      waiting.delete(name);
      try {
        const request = await readRequest(plane.ask, name);
        if (request) await handleRequest(context, request);
      } catch (error) {
        app.log.warn({ err: error, cluster: cluster().id, request: name }, 'a certificate request could not be decided; it is tried again');
        waiting.add(name);
        timer = setTimeout(beginAgain, retryDelayMs);
        return;
      }
    }
  };
  const begin = () => {
    if (stopped || running || timer) return;
    running = workOff().finally(() => {
      running = undefined;
      if (waiting.size > 0) begin();
      else if (hasMore && !stopped) watchAgain();
    });
  };
  const beginAgain = () => {
    timer = undefined;
    begin();
  };
  const watch = () =>
    plane.watch(requestsPath, ({ type, object }) => {
      const { name } = object.metadata;
      if ((type !== 'ADDED' && type !== 'MODIFIED') || name.length > maxNameLength) return;
      if (waiting.size < maxQueued) waiting.add(name);
      else hasMore = true;
      begin();
    });
  let endWatch = watch();
  const watchAgain = () => {
    hasMore = false;
    endWatch();
    endWatch = watch();
  };
  return {
    async stop() {
      stopped = true;
      endWatch();
      clearTimeout(timer);
      await running;
    },
  };
}

async function handleRequest(work: ApproverContext, request: SigningRequest): Promise<void> {
  if (request.status?.certificate) return recordCertificate(work, request);
  if (isDecided(request)) return;
  const read = readPkcs10(request);
  const judged: Verdict = read
    ? judgeRequest(read)
    : { is: 'denied', reason: 'Unreadable', message: 'the request is no PKCS #10 with a good signature' };
  if (judged.is === 'foreign') return;
  const refused = await refuseJudged(work, request, judged);
  await decideRequest(
    work.plane.ask,
    request.metadata,
    refused
      ? { type: 'Denied', ...refused }
      : { type: 'Approved', reason: 'QuarterdeckApproved', message: approvals[judged.is as keyof typeof approvals] },
  );
  // Recorded at once if it is signed at once, so that it can be refused from its first moment; else when the watch reports it.
  const decided = refused ? undefined : await readRequest(work.plane.ask, request.metadata.name);
  if (decided?.status?.certificate) await recordCertificate(work, decided);
}

const approvals = {
  join: 'a join token that was not used before',
  renewal: 'a node renews its own certificate',
  serving: 'the names are the node’s own',
};

/** Why a request is denied, if it is. */
async function refuseJudged(
  work: ApproverContext,
  request: SigningRequest,
  judged: Verdict,
): Promise<{ reason: string; message: string } | undefined> {
  if (judged.is === 'denied') return { reason: judged.reason, message: judged.message };
  if (judged.is === 'foreign') return undefined;
  const tooMany = await refuseTooMany(work, judged.node);
  if (tooMany) return tooMany;
  if (judged.is === 'join') return refuseJoin(work, request, judged);
  if (judged.is === 'renewal') return undefined;
  const node = await findNode(work.plane.ask, judged.node);
  const ofOthers = await work.app.db.read((tx) => meshAddressesOfOthers(tx, work.cluster().id, judged.node, judged.names));
  const ofApi = namesOfApi(judged.names, clusterAddressOf(work.app, work.cluster()).hosts);
  const foreign = [...new Set([...namesNotOwned(judged.names, node ? [node.name, ...node.addresses] : []), ...ofOthers, ...ofApi])];
  return foreign.length
    ? { reason: 'NamesOfOthers', message: `not among the node’s own names and addresses: ${foreign.join(', ')}` }
    : undefined;
}

/** Each certificate is recorded until it expires, so a node that requests in a loop is refused. */
async function refuseTooMany({ app, cluster }: ApproverContext, node: string) {
  const { id, tier } = cluster();
  return refuseMore(node, await app.db.read((tx) => countCertificates(tx, id, node)), maxPerCluster(tierOf(tier).nodes));
}

/** The token is consumed last: a request that is refused for another reason does not use it up. */
async function refuseJoin(work: ApproverContext, request: SigningRequest, { token, node }: { token: string; node: string }) {
  const { app, plane, admitted } = work;
  const cluster = work.cluster();
  const nodes = await listNodes(plane.ask);
  const named = nodes.find(({ name }) => name === node);
  if (named?.ready) return { reason: 'NodeNameTaken', message: `a node named ${node} is ready; deregister it first, or use another name` };
  const now = performance.now();
  for (const [name, admittedAt] of admitted) if (now - admittedAt > admissionTimeoutMs) admitted.delete(name);
  const names = new Set([...nodes.map(({ name }) => name), ...admitted.keys()]);
  const maxNodes = tierOf(cluster.tier).nodes;
  if (!names.has(node) && names.size >= maxNodes)
    return {
      reason: 'TierNodeLimit',
      message: `the tier ${cluster.tier} has room for ${maxNodes} nodes; deregister one, or choose a larger tier`,
    };
  const taken = await app.db.write(async (tx) => {
    const isTaken = await takeJoinToken(tx, { cluster: cluster.id, id: token, request: request.metadata.uid, node });
    if (isTaken) await confirmPeer(tx, cluster.id, node, token);
    return isTaken;
  });
  if (!taken)
    return {
      reason: 'JoinTokenAlreadyUsed',
      message:
        'the join token was used before, has expired, was made for another node, or from a registration token that is disabled now; mint another',
    };
  admitted.set(node, now);
  work.onAdmitted();
  return undefined;
}

/** Also records certificates that the cluster's administrators approved themselves, up to twice our own limit. Further ones are unknown here until
 *  their node is deregistered and its requests are read. */
async function recordCertificate({ app, cluster, recordedUids }: ApproverContext, request: SigningRequest): Promise<void> {
  const { uid } = request.metadata;
  const certificate = recordedUids.has(uid) ? undefined : certificateOf(request);
  if (!certificate) return;
  const { id, tier } = cluster();
  const isRecorded = await app.db.write(async (tx) => {
    const { of_cluster } = await countCertificates(tx, id, certificate.node);
    const hasRoom = of_cluster < 2 * maxPerCluster(tierOf(tier).nodes);
    if (hasRoom) await recordCertificates(tx, cluster(), [certificate]);
    return hasRoom;
  });
  if (!isRecorded) app.log.warn({ cluster: id, node: certificate.node }, 'a cluster approved more certificates for nodes than are noted');
  if (recordedUids.size >= maxRecordedUids) recordedUids.clear();
  recordedUids.add(uid);
}
