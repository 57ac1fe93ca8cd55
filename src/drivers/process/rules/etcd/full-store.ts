const name = 'quarterdeck-datastore-full';

/** The common name of Quarterdeck's own calls. */
const ownUser = 'system:quarterdeck';

/** A request to an object itself has no `subResource`. Of objects that are being deleted finalizers are removed, or they would never go. */
const conditions = [
  { name: 'not-quarterdeck', expression: `request.userInfo.username != '${ownUser}'` },
  { name: 'not-a-lease', expression: "request.resource.group != 'coordination.k8s.io' || request.resource.resource != 'leases'" },
  {
    name: 'not-node-status',
    expression:
      "request.resource.group != '' || request.resource.resource != 'nodes' || !has(request.subResource) || request.subResource != 'status'",
  },
  {
    name: 'not-being-deleted',
    expression:
      "request.operation != 'UPDATE' || oldObject == null || !has(oldObject.metadata) || !has(oldObject.metadata.deletionTimestamp)",
  },
  {
    name: 'stores-nothing',
    expression:
      "!(request.resource.group in ['authentication.k8s.io', 'authorization.k8s.io']) && !(has(request.subResource) && request.subResource in ['eviction', 'token', 'exec', 'attach', 'portforward', 'proxy', 'finalize'])",
  },
];

const sentenceOf = (storageGiB: number) =>
  `the datastore of this cluster is 95 % full (${storageGiB} GiB); delete objects, or choose a larger datastore.storageGiB; until there is room it takes only deletions, leases and node status`;

/** Refuses what would fill a full store further. */
export const fullStorePolicy = (storageGiB: number) => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['*/*'] }],
    },
    matchConditions: conditions,
    validations: [{ expression: 'false', message: sentenceOf(storageGiB), reason: 'Forbidden' }],
  },
});

export const fullStoreBinding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name },
  spec: { policyName: name, validationActions: ['Deny'] },
};
