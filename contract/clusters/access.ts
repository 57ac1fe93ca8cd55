import Type from 'typebox';
import { DateTime, input, Name, named, op } from '../common.ts';

const ClusterNode = named('ClusterNode', Type.Object({ name: Type.String(), ready: Type.Boolean(), agentVersion: Type.String() }));

const ClusterRegistrationToken = named(
  'ClusterRegistrationToken',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    createdAt: DateTime,
    expiresAt: Type.Optional(DateTime),
    lastUsed: Type.Optional(DateTime),
    disabled: Type.Boolean(),
  }),
);

const expiresIn = Type.Integer({ description: 'Lifetime in seconds' });
const notYet = { 409: 'the cluster has no endpoint yet; the sentence names its phase' };

export const accessOps = {
  listClusterNodes: op({
    method: 'GET',
    path: '/clusters/{name}/nodes',
    summary: 'List worker nodes',
    description: 'Live, by name.',
    permission: 'clusters.node.read',
    scoped: true,
    responses: { 200: Type.Object({ nodes: Type.Array(ClusterNode) }) },
    errors: notYet,
  }),
  deregisterClusterNode: op({
    method: 'DELETE',
    path: '/clusters/{name}/nodes/{node}',
    summary: 'Deregister a node',
    description: 'Across all planes: its credentials are refused from then on, and it comes back only by joining anew.',
    permission: 'clusters.node.write',
    scoped: true,
    responses: { 204: null },
    errors: { 404: 'unknown cluster or node, or not of this organization', ...notYet },
  }),
  getClusterKubeconfig: op({
    method: 'GET',
    path: '/clusters/{name}/kubeconfig',
    summary: 'Client configuration for administrators',
    description: 'The token inside expires after an hour: fetch it again then.',
    permission: 'clusters.kubeconfig.admin',
    kinds: [],
    fresh: true,
    scoped: true,
    responses: { 200: Type.Object({ kubeconfig: Type.String(), expiresIn }) },
    errors: notYet,
    secret: true,
  }),
  createJoinToken: op({
    method: 'POST',
    path: '/clusters/{name}/join-tokens',
    summary: 'Mint a join token for one node',
    description: 'Works once, for 15 minutes. Run the command on the node.',
    permission: 'clusters.token.admin',
    scoped: true,
    responses: { 201: Type.Object({ joinToken: Type.String(), cluster: Type.String(), joinCommand: Type.String(), expiresIn }) },
    errors: notYet,
    secret: true,
  }),
  listRegistrationTokens: op({
    method: 'GET',
    path: '/clusters/{name}/registration-tokens',
    summary: 'List registration tokens',
    description: 'Secrets are never shown again.',
    permission: 'clusters.token.read',
    scoped: true,
    responses: { 200: Type.Object({ tokens: Type.Array(ClusterRegistrationToken) }) },
    errors: notYet,
  }),
  createRegistrationToken: op({
    method: 'POST',
    path: '/clusters/{name}/registration-tokens',
    summary: 'Mint a registration token for many nodes',
    description: 'Every node that starts with the cloud config joins by itself. The token is returned only here.',
    permission: 'clusters.token.admin',
    fresh: true,
    scoped: true,
    body: input({
      name: Name,
      expiresIn: Type.Optional(
        Type.Integer({
          minimum: 60,
          maximum: 31_536_000,
          description: 'Lifetime in seconds, 60 to 31,536,000 (a year); absent: until revoked',
        }),
      ),
    }),
    responses: {
      201: Type.Object({
        id: Type.String(),
        name: Type.String(),
        token: Type.String(),
        cloudConfig: Type.String(),
        joinCommand: Type.String(),
      }),
    },
    errors: notYet,
    codes: { 403: ['quota_reached'] },
    secret: true,
  }),
  updateRegistrationToken: op({
    method: 'PATCH',
    path: '/clusters/{name}/registration-tokens/{id}',
    summary: 'Disable or enable a registration token',
    description: 'While disabled no node joins with it; nodes that did are unaffected.',
    permission: 'clusters.token.admin',
    scoped: true,
    body: input({ disabled: Type.Boolean() }),
    responses: { 204: null },
    errors: { 404: 'unknown cluster or token, or not of this organization', ...notYet },
  }),
  revokeRegistrationToken: op({
    method: 'DELETE',
    path: '/clusters/{name}/registration-tokens/{id}',
    summary: 'Revoke a registration token for good',
    permission: 'clusters.token.admin',
    scoped: true,
    responses: { 204: null },
    errors: { 404: 'unknown cluster or token, or not of this organization', ...notYet },
  }),
};
