import type { Tx } from '../../../../kernel/db/index.ts';
import { nodeNameOf, restrictNode } from '../../rules/kubernetes/node-access.ts';
import type { Json, KubeObject } from '../../rules/kubernetes/object.ts';
import { textOf, textsOf } from '../../rules/kubernetes/object.ts';
import { applyJsonPatch } from '../../rules/kubernetes/patch/json-patch.ts';
import { applyMergePatch } from '../../rules/kubernetes/patch/merge-patch.ts';
import { applyStrategicPatch } from '../../rules/kubernetes/patch/strategic-patch.ts';
import { whyEmpty } from '../../rules/kubernetes/resources.ts';
import { messageNamed } from '../../rules/kubernetes/schema/messages.ts';
import { shapeObject } from '../../rules/kubernetes/schema/shape.ts';
import { badRequest, notFoundError, notServed, success, unsupportedType } from '../../rules/kubernetes/status.ts';
import { readObject } from '../../store/objects.ts';
import { refuseEscalation } from './authorize.ts';
import { takeObject } from './body.ts';
import type { Call, Reply } from './call.ts';
import { createObject, type DeleteManner, deleteObject, type Make, type Manner, placeOf, type Target, updateObject } from './change.ts';
import type { Cluster } from './cluster.ts';
import { answerDocument } from './documents.ts';
import type { Follower } from './follow.ts';
import { isWanted, readWanted, replyList, walkObjects } from './list.ts';
import { inFormOf, makePresenter } from './present.ts';
import { requireSpace } from './read.ts';
import { answerReview } from './reviews.ts';
import { decideSigning, prepareSigning } from './signing.ts';
import { requestToken } from './tokens.ts';
import { replyWatch } from './watch.ts';

/** Does what is asked, for somebody who may. */
export async function dispatch(cluster: Cluster, follower: Follower, call: Call): Promise<Reply> {
  const { verb, resource, subresource } = call.asked;
  if (!resource) return answerDocument(cluster, call);
  if (resource.manner === 'review') return { status: 201, body: await answerReview(cluster, call) };
  if (resource.manner === 'empty' && !['get', 'list', 'watch'].includes(verb)) throw notServed(whyEmpty(resource));
  switch (verb) {
    case 'list':
      return replyList(cluster, call);
    case 'watch':
      return replyWatch(cluster, follower, call);
    case 'get':
      return getObject(cluster, call);
    case 'create':
      if (subresource?.name === 'token') return { status: 201, body: await requestToken(cluster, call, takeObject(call).object) };
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

const targetOf = ({ asked: { resource, namespace, name } }: Call): Target => ({
  resource: resource!,
  namespace: resource!.isNamespaced ? namespace : '',
  name,
});

async function getObject(cluster: Cluster, call: Call): Promise<Reply> {
  const { resource, name } = call.asked;
  const [{ now }, row] = await cluster.app.db.read((tx) =>
    Promise.all([requireSpace(tx, cluster), resource!.manner === 'kept' ? readObject(tx, cluster, placeOf(targetOf(call))) : undefined]),
  );
  if (!row) throw notFoundError(resource!, name);
  const text = makePresenter(resource!, call.show, now).one(row.body);
  return { status: 200, body: text };
}

/** How a written object goes back. */
async function tellWritten(cluster: Cluster, call: Call, object: KubeObject, status: number, warnings: string[] = []): Promise<Reply> {
  if (call.show.as === 'object') return { status, body: inFormOf(call.asked.resource!, object), warnings };
  const { now } = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  return { status, body: makePresenter(call.asked.resource!, call.show, now).one(JSON.stringify(object)), warnings };
}

function readManner(cluster: Cluster, call: Call): Manner {
  const dryRun = call.asked.query.getAll('dryRun');
  if (dryRun.some((one) => one !== 'All')) throw badRequest('dryRun: supported values: "All"');
  return { isDryRun: dryRun.length > 0, caller: call.caller, admit: (tx, object, before) => admit(tx, cluster, call, object, before) };
}

/** What depends on who writes, beyond what the path says. */
async function admit(
  tx: Tx,
  cluster: Cluster,
  { caller: { user }, asked }: Call,
  object: KubeObject,
  before: KubeObject | undefined,
): Promise<void> {
  const node = nodeNameOf(user);
  if (node && !user.groups.includes('system:masters')) restrictNode(node, object, before);
  if (/Role(Binding)?$/.test(object.kind) && asked.verb !== 'delete' && asked.verb !== 'deletecollection')
    await refuseEscalation(tx, cluster, user, object, before);
}

async function create(cluster: Cluster, call: Call): Promise<Reply> {
  const { object, warnings } = takeObject(call);
  const manner = readManner(cluster, call);
  if (object.kind === 'CertificateSigningRequest') prepareSigning(object, call.caller.user);
  return tellWritten(cluster, call, await createObject(cluster, targetOf(call), object, manner), 201, warnings);
}

async function update(cluster: Cluster, call: Call): Promise<Reply> {
  const { object, warnings } = takeObject(call);
  return write(cluster, call, () => object, warnings);
}

async function write(cluster: Cluster, call: Call, make: Make, warnings: string[]): Promise<Reply> {
  const { subresource } = call.asked;
  const manner = { ...readManner(cluster, call), ...(subresource ? { subresource: subresource.name } : {}) };
  const isSigning = call.asked.resource!.kind === 'CertificateSigningRequest' && subresource;
  const decided = isSigning ? decideSigning(cluster, call, make) : make;
  return tellWritten(cluster, call, await updateObject(cluster, targetOf(call), decided, manner), 200, warnings);
}

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

async function patch(cluster: Cluster, call: Call): Promise<Reply> {
  const { contentType, body, asked } = call;
  if (contentType.startsWith('application/apply-patch'))
    throw unsupportedType(
      'server-side apply is not served by this embedded control plane; apply on the client’s side: kubectl apply without --server-side, helm with --server-side=false',
    );
  if (!Object.values(patchTypes).includes(contentType))
    throw unsupportedType(
      `the body of the request was in an unknown format - accepted media types include: ${Object.values(patchTypes).join(', ')}`,
    );
  if (body === undefined || body === null) throw badRequest('the request has no body; send the patch');
  const message = messageNamed(asked.resource!.message);
  const make: Make = async (before, _tx, rest) => {
    const shown = inFormOf(asked.resource!, before);
    const patched =
      contentType === patchTypes.json
        ? applyJsonPatch(structuredClone(shown), body)
        : contentType === patchTypes.merge
          ? applyMergePatch(shown, body)
          : applyStrategicPatch(shown, body, message);
    await rest();
    return takeObject(call, patched).object;
  };
  return write(cluster, call, make, []);
}

/** Options in a body, and in the query of those who send none. */
function readDeletion(cluster: Cluster, call: Call): DeleteManner {
  const { query } = call.asked;
  const message = messageNamed('meta.DeleteOptions');
  const given =
    call.body === undefined || call.body === null ? {} : (shapeObject(message, call.body, 'v1', 'DeleteOptions').object as unknown as Json);
  const { uid, resourceVersion } = (given['preconditions'] ?? {}) as { uid?: string; resourceVersion?: string };
  const manner = readManner(cluster, call);
  const policy = textOf(given['propagationPolicy']) || (query.get('propagationPolicy') ?? '');
  if (policy && !['Orphan', 'Background', 'Foreground'].includes(policy))
    throw badRequest(`propagationPolicy: ${JSON.stringify(policy.slice(0, 50))} is none of "Foreground", "Background", "Orphan"`);
  return {
    ...manner,
    isDryRun: manner.isDryRun || textsOf(given['dryRun']).includes('All'),
    orphans: policy === 'Orphan' || given['orphanDependents'] === true,
    ...{ uid, resourceVersion },
  };
}

async function remove(cluster: Cluster, call: Call): Promise<Reply> {
  const { resource, name } = call.asked;
  const { object, isGone } = await deleteObject(cluster, targetOf(call), readDeletion(cluster, call));
  if (!isGone) return tellWritten(cluster, call, object, 200);
  const details = { name, ...(resource!.group ? { group: resource!.group } : {}), kind: resource!.plural, uid: object.metadata.uid! };
  return { status: 200, body: success(details) };
}

/** One after the other: each is a write of its own, so a collection of any size holds up nobody else. */
async function removeAll(cluster: Cluster, call: Call): Promise<Reply> {
  const manner = readDeletion(cluster, call);
  const wanted = readWanted(call);
  for await (const rows of walkObjects(cluster, wanted, undefined, undefined))
    for (const row of rows) {
      if (!isWanted(wanted, row.body)) continue;
      const target = { resource: wanted.resource, namespace: row.namespace, name: row.name };
      await deleteObject(cluster, target, manner).catch((error) => {
        if ((error as { code?: unknown }).code !== 404) throw error;
      });
    }
  return { status: 200, body: success({ kind: call.asked.resource!.plural }) };
}
