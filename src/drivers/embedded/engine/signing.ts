import type { Tx } from '../../../kernel/db/index.ts';
import { wallClock } from '../../../kernel/wall-clock.ts';
import { signRequest } from '../../../kernel/x509/issue.ts';
import { readSigningRequest } from '../../../kernel/x509/request.ts';
import { type Cause, forbiddenError, invalidError, invalidValue, requiredValue } from '../../status.ts';
import { isOwnCertificate, nodeNameOf } from '../rules/node-access.ts';
import type { Json, KubeObject } from '../rules/object.ts';
import { textOf } from '../rules/object.ts';
import { checkSigningRequest, signers, usagesOf } from '../rules/signers.ts';
import { isAllowed } from './authorize.ts';
import type { Call } from './call.ts';
import type { Mutation } from './change.ts';
import type { Cluster, User } from './cluster.ts';

// Certificate signing requests. The requester is recorded on creation; an approved request is signed in the same transaction.

const groupResource = { group: 'certificates.k8s.io', plural: 'certificatesigningrequests' };
const kind = 'CertificateSigningRequest';
const minSeconds = 600;

const pemOf = (spec: Json) => Buffer.from(textOf(spec['request']), 'base64').toString('latin1');

/** Validates a new request and records the requester. */
export function prepareSigning(object: KubeObject, user: User): void {
  object.spec ??= {};
  const { spec } = object;
  const signer = textOf(spec['signerName']);
  const causes: Cause[] = [];
  if (!signer) causes.push(requiredValue('spec.signerName'));
  else if (signer === 'kubernetes.io/legacy-unknown')
    causes.push(invalidValue('spec.signerName', signer, 'the legacy signerName is not allowed'));
  else if (!/^[a-z0-9.-]{1,253}\/[A-Za-z0-9._:/-]{1,318}$/.test(signer))
    causes.push(invalidValue('spec.signerName', signer, 'must be a fully qualified domain and path of the form "example.com/signer-name"'));
  const usages = usagesOf(spec);
  if (usages.length === 0) causes.push(requiredValue('spec.usages', 'usages must be specified'));
  const seconds = spec['expirationSeconds'];
  if (typeof seconds === 'number' && seconds < minSeconds)
    causes.push(invalidValue('spec.expirationSeconds', seconds, 'may not specify a duration less than 600 seconds (10 minutes)'));
  const request = readSigningRequest(pemOf(spec));
  if (!request)
    causes.push(invalidValue('spec.request', '', 'PEM block type must be CERTIFICATE REQUEST, and it must be signed by its own key'));
  if (causes.length > 0) throw invalidError(kind, groupResource, object.metadata.name, causes);
  // Kubernetes refuses this too: the right to approve must not lead to system:masters.
  if (signer === signers.client && request!.organizations.includes('system:masters'))
    throw forbiddenError(
      groupResource,
      object.metadata.name,
      'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
    );
  const node = nodeNameOf(user);
  if (node && !isOwnCertificate(node, signer, request!.commonName))
    throw forbiddenError(groupResource, object.metadata.name, `node "${node}" asks for a certificate of another name than its own`);
  spec['username'] = user.name;
  spec['groups'] = [...user.groups];
  if (user.uid) spec['uid'] = user.uid;
  else delete spec['uid'];
  if (user.extra) spec['extra'] = user.extra;
  else delete spec['extra'];
}

/**
 * The user needs permission for the signer of the request as read under the lock: another request may have had this name a moment ago. An
 * approved request is returned signed.
 */
export function decideSigning(cluster: Cluster, call: Call, mutate: Mutation): Mutation {
  const { name, subresource } = call.requestInfo;
  const verb = subresource!.name === 'approval' ? 'approve' : 'sign';
  return async (before, tx, pauseIfLarge) => {
    const signer = textOf(before.spec?.['signerName']);
    if (!(await mayUseSigner(cluster, call.caller.user, verb, signer, tx)))
      throw forbiddenError(groupResource, name, `user not permitted to ${verb} requests with signerName "${signer}"`);
    const object = await mutate(before, tx, pauseIfLarge);
    object.metadata.name ||= before.metadata.name;
    requireOneDecision(before, object);
    if (subresource!.name !== 'approval') return object;
    object.status = withConditionTimes(object.status ?? {}, before.status ?? {});
    if (before.status?.['certificate']) object.status['certificate'] = before.status['certificate'];
    else delete object.status['certificate'];
    return isApproved(object) && !object.status['certificate'] ? sign(cluster, before, object) : object;
  };
}

async function mayUseSigner(cluster: Cluster, user: User, verb: string, signer: string, tx: Tx): Promise<boolean> {
  const attributes = { verb, group: groupResource.group, resource: 'signers', subresource: '', namespace: '' };
  const names = [signer, `${signer.slice(0, signer.indexOf('/'))}/*`];
  for (const name of names) if (await isAllowed(cluster, user, { ...attributes, name }, undefined, tx)) return true;
  return false;
}

const conditionsOf = (status: Json | undefined): Json[] => (status?.['conditions'] ?? []) as Json[];
const hasCondition = (object: KubeObject, type: string) => conditionsOf(object.status).some((one) => one['type'] === type);
const isApproved = (object: KubeObject) =>
  hasCondition(object, 'Approved') && !hasCondition(object, 'Denied') && !hasCondition(object, 'Failed');

/** Approved and Denied are final and exclude each other. */
function requireOneDecision(before: KubeObject, after: KubeObject): void {
  const causes: Cause[] = [];
  for (const type of ['Approved', 'Denied'])
    if (hasCondition(before, type) && !hasCondition(after, type))
      causes.push({
        reason: 'FieldValueForbidden',
        field: 'status.conditions',
        message: `Forbidden: updates may not remove a condition of type "${type}"`,
      });
  if (hasCondition(after, 'Approved') && hasCondition(after, 'Denied'))
    causes.push(invalidValue('status.conditions', 'Denied', 'Approved and Denied conditions are mutually exclusive'));
  if (causes.length > 0) throw invalidError(kind, groupResource, before.metadata.name, causes);
}

function withConditionTimes(status: Json, before: Json): Json {
  const now = `${wallClock().toISOString().slice(0, 19)}Z`;
  const known = new Map(conditionsOf(before).map((one) => [one['type'], one]));
  const conditions = conditionsOf(status).map((one): Json => {
    const times = known.get(one['type']) ?? {};
    return {
      ...one,
      status: one['status'] ?? 'True',
      lastUpdateTime: one['lastUpdateTime'] ?? times['lastUpdateTime'] ?? now,
      lastTransitionTime: times['lastTransitionTime'] ?? now,
    };
  });
  return { ...status, conditions };
}

/** Clients with a slow clock must accept the certificate too. */
const backdateMs = 300_000;

function sign(cluster: Cluster, { spec = {} }: KubeObject, object: KubeObject): KubeObject {
  const signer = textOf(spec['signerName']);
  const request = readSigningRequest(pemOf(spec));
  const refusal = request ? checkSigningRequest(signer, request, spec) : 'the request cannot be read';
  if (refusal === 'not ours') return object; // signed by a controller of the user
  if (refusal) {
    const failed = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message: refusal };
    return {
      ...object,
      status: withConditionTimes({ ...object.status, conditions: [...conditionsOf(object.status), failed] }, object.status ?? {}),
    };
  }
  const requestedSeconds = typeof spec['expirationSeconds'] === 'number' ? spec['expirationSeconds'] : cluster.options.certificateSeconds;
  const now = wallClock().getTime();
  const certificate = signRequest(cluster.options.clientCa, request!, {
    usage: signer === signers.serving ? 'server' : 'client',
    from: new Date(now - backdateMs),
    until: new Date(now + Math.min(requestedSeconds, cluster.options.certificateSeconds) * 1000),
  });
  return { ...object, status: { ...object.status, certificate: Buffer.from(certificate).toString('base64') } };
}
