import type { Tx } from '../../../kernel/db/index.ts';
import { badRequest, notFoundError, notServed, success, unsupportedType } from '../../status.ts';
import { refuseEscalation } from '../engine/authorize.ts';
import type { Call, Reply } from '../engine/call.ts';
import {
  createObject,
  type DeleteOptions,
  deleteObject,
  keyOf,
  type Mutation,
  type Target,
  updateObject,
  type WriteOptions,
} from '../engine/change.ts';
import type { ChangeFeed } from '../engine/change-feed.ts';
import type { Cluster } from '../engine/cluster.ts';
import { requireSpace } from '../engine/read.ts';
import { decideSigning, prepareSigning } from '../engine/signing.ts';
import { requestToken } from '../engine/tokens.ts';
import { nodeNameOf, restrictNode } from '../rules/node-access.ts';
import type { Json, KubeObject } from '../rules/object.ts';
import { textOf, textsOf } from '../rules/object.ts';
import { applyJsonPatch } from '../rules/patch/json-patch.ts';
import { applyMergePatch } from '../rules/patch/merge-patch.ts';
import { applyStrategicPatch } from '../rules/patch/strategic-patch.ts';
import { emptyKindReason } from '../rules/resources.ts';
import { messageNamed } from '../rules/schema/messages.ts';
import { shapeObject } from '../rules/schema/shape.ts';
import { readObject } from '../store/objects.ts';
import { decodeObject } from './body.ts';
import { matchesQuery, parseListQuery, readPages, replyList } from './list.ts';
import { answerNonResource } from './non-resource.ts';
import { makePresenter, toGroupForm } from './present.ts';
import { answerReview } from './reviews.ts';
import { replyWatch } from './watch.ts';

/** Routes an authorized request to its handler. */
export async function dispatch(cluster: Cluster, feed: ChangeFeed, call: Call): Promise<Reply> {
  const { verb, resource, subresource } = call.requestInfo;
  if (!resource) return answerNonResource(cluster, call);
  if (resource.mode === 'review') return { status: 201, body: await answerReview(cluster, call) };
  if (resource.mode === 'empty' && !['get', 'list', 'watch'].includes(verb)) throw notServed(emptyKindReason(resource));
  switch (verb) {
    case 'list':
      return replyList(cluster, call);
    case 'watch':
      return replyWatch(cluster, feed, call);
    case 'get':
      return getObject(cluster, call);
    case 'create':
      if (subresource?.name === 'token') return { status: 201, body: await requestToken(cluster, call, decodeObject(call).object) };
      return create(cluster, call);
    case 'update':
      return update(cluster, call);
    case 'patch':
      return patch(cluster, call);
    case 'delete':
      return remove(cluster, call);
    default:
      return removeAll(cluster, call);
  }
}

const targetOf = ({ requestInfo: { resource, namespace, name } }: Call): Target => ({
  resource: resource!,
  namespace: resource!.isNamespaced ? namespace : '',
  name,
});

async function getObject(cluster: Cluster, call: Call): Promise<Reply> {
  const { resource, name } = call.requestInfo;
  const [{ now }, row] = await cluster.app.db.read((tx) =>
    Promise.all([requireSpace(tx, cluster), resource!.mode === 'stored' ? readObject(tx, cluster, keyOf(targetOf(call))) : undefined]),
  );
  if (!row) throw notFoundError(resource!, name);
  const text = makePresenter(resource!, call.representation, now).one(row.body);
  return { status: 200, body: text };
}

/** The response to a write, in the representation that the client asked for. */
async function replyWritten(cluster: Cluster, call: Call, object: KubeObject, status: number, warnings: string[] = []): Promise<Reply> {
  if (call.representation.as === 'object') return { status, body: toGroupForm(call.requestInfo.resource!, object), warnings };
  const { now } = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  return { status, body: makePresenter(call.requestInfo.resource!, call.representation, now).one(JSON.stringify(object)), warnings };
}

function readWriteOptions(cluster: Cluster, call: Call): WriteOptions {
  const dryRun = call.requestInfo.query.getAll('dryRun');
  if (dryRun.some((one) => one !== 'All')) throw badRequest('dryRun: supported values: "All"');
  return { isDryRun: dryRun.length > 0, caller: call.caller, admit: (tx, object, before) => admit(tx, cluster, call, object, before) };
}

/** Admission checks that depend on the user: NodeRestriction, and privilege escalation. */
async function admit(
  tx: Tx,
  cluster: Cluster,
  { caller: { user }, requestInfo }: Call,
  object: KubeObject,
  before: KubeObject | undefined,
): Promise<void> {
  const node = nodeNameOf(user);
  if (node && !user.groups.includes('system:masters')) restrictNode(node, object, before);
  if (/Role(Binding)?$/.test(object.kind) && requestInfo.verb !== 'delete' && requestInfo.verb !== 'deletecollection')
    await refuseEscalation(tx, cluster, user, object, before);
}

async function create(cluster: Cluster, call: Call): Promise<Reply> {
  const { object, warnings } = decodeObject(call);
  const options = readWriteOptions(cluster, call);
  if (object.kind === 'CertificateSigningRequest') prepareSigning(object, call.caller.user);
  return replyWritten(cluster, call, await createObject(cluster, targetOf(call), object, options), 201, warnings);
}

async function update(cluster: Cluster, call: Call): Promise<Reply> {
  const { object, warnings } = decodeObject(call);
  return write(cluster, call, () => object, warnings);
}

async function write(cluster: Cluster, call: Call, mutate: Mutation, warnings: string[]): Promise<Reply> {
  const { subresource } = call.requestInfo;
  const options = { ...readWriteOptions(cluster, call), ...(subresource ? { subresource: subresource.name } : {}) };
  const isSigning = call.requestInfo.resource!.kind === 'CertificateSigningRequest' && subresource;
  const decision = isSigning ? decideSigning(cluster, call, mutate) : mutate;
  return replyWritten(cluster, call, await updateObject(cluster, targetOf(call), decision, options), 200, warnings);
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

async function patch(cluster: Cluster, call: Call): Promise<Reply> {
  const { contentType, body, requestInfo } = call;
  if (contentType.startsWith('application/apply-patch'))
    throw unsupportedType(
      'server-side apply is not served by this embedded control plane; apply on the client’s side: kubectl apply without --server-side, helm with --server-side=false',
    );
  if (!Object.values(patchTypes).includes(contentType))
    throw unsupportedType(
      `the body of the request was in an unknown format - accepted media types include: ${Object.values(patchTypes).join(', ')}`,
    );
  if (body === undefined || body === null) throw badRequest('the request has no body; send the patch');
  const message = messageNamed(requestInfo.resource!.message);
  const mutate: Mutation = async (before, _tx, pauseIfLarge) => {
    const shown = toGroupForm(requestInfo.resource!, before);
    const patched =
      contentType === patchTypes.json
        ? applyJsonPatch(structuredClone(shown), body)
        : contentType === patchTypes.merge
          ? applyMergePatch(shown, body)
          : applyStrategicPatch(shown, body, message);
    await pauseIfLarge();
    return decodeObject(call, patched).object;
  };
  return write(cluster, call, mutate, []);
}

/** DeleteOptions from the body, or from the query for clients that send no body. */
function readDeleteOptions(cluster: Cluster, call: Call): DeleteOptions {
  const { query } = call.requestInfo;
  const message = messageNamed('meta.DeleteOptions');
  const given =
    call.body === undefined || call.body === null ? {} : (shapeObject(message, call.body, 'v1', 'DeleteOptions').object as unknown as Json);
  const { uid, resourceVersion } = (given['preconditions'] ?? {}) as { uid?: string; resourceVersion?: string };
  const options = readWriteOptions(cluster, call);
  const policy = textOf(given['propagationPolicy']) || (query.get('propagationPolicy') ?? '');
  if (policy && !['Orphan', 'Background', 'Foreground'].includes(policy))
    throw badRequest(`propagationPolicy: ${JSON.stringify(policy.slice(0, 50))} is none of "Foreground", "Background", "Orphan"`);
  return {
    ...options,
    isDryRun: options.isDryRun || textsOf(given['dryRun']).includes('All'),
    orphans: policy === 'Orphan' || given['orphanDependents'] === true,
    uid,
    resourceVersion,
  };
}

async function remove(cluster: Cluster, call: Call): Promise<Reply> {
  const { resource, name } = call.requestInfo;
  const { object, isGone } = await deleteObject(cluster, targetOf(call), readDeleteOptions(cluster, call));
  if (!isGone) return replyWritten(cluster, call, object, 200);
  const details = { name, ...(resource!.group ? { group: resource!.group } : {}), kind: resource!.plural, uid: object.metadata.uid! };
  return { status: 200, body: success(details) };
}

/** Deletes one object per write, so that a collection of any size does not block other writers. */
async function removeAll(cluster: Cluster, call: Call): Promise<Reply> {
  const options = readDeleteOptions(cluster, call);
  const listQuery = parseListQuery(call);
  for await (const rows of readPages(cluster, listQuery, undefined, undefined))
    for (const row of rows) {
      if (!matchesQuery(listQuery, row.body)) continue;
      const target = { resource: listQuery.resource, namespace: row.namespace, name: row.name };
      await deleteObject(cluster, target, options).catch((error) => {
        if ((error as { code?: unknown }).code !== 404) throw error;
      });
    }
  return { status: 200, body: success({ kind: call.requestInfo.resource!.plural }) };
}
