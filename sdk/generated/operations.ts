// Generated from openapi/v1.json by scripts/sdk.ts; do not edit.
import type { Operation } from '../types.ts';

export const operations: Record<string, Record<string, Operation>> = {
  iam: {
    getIamCatalog: { method: 'GET', path: '/iam/catalog' },
    listGrants: { method: 'GET', path: '/iam/grants', query: ['subject'] },
    createGrant: { method: 'POST', path: '/iam/grants', body: 'object', idempotent: true },
    deleteGrant: { method: 'DELETE', path: '/iam/grants/{id}' },
    listPermissions: { method: 'GET', path: '/iam/permissions' },
    listRoles: { method: 'GET', path: '/iam/roles' },
    createRole: { method: 'POST', path: '/iam/roles', body: 'object', idempotent: true },
    updateRole: { method: 'PATCH', path: '/iam/roles/{id}', body: 'object' },
    deleteRole: { method: 'DELETE', path: '/iam/roles/{id}' },
  },
  organization: {
    getMe: { method: 'GET', path: '/me' },
    getOrganization: { method: 'GET', path: '/organization' },
    updateOrganization: { method: 'PATCH', path: '/organization', body: 'object' },
    listAudit: { method: 'GET', path: '/organization/audit', query: ['limit', 'cursor'], paged: true },
    getContacts: { method: 'GET', path: '/organization/contacts' },
    updateContacts: { method: 'PATCH', path: '/organization/contacts', body: 'object' },
    listInvitations: { method: 'GET', path: '/organization/invitations' },
    createInvitation: { method: 'POST', path: '/organization/invitations', body: 'object', idempotent: true },
    acceptInvitation: { method: 'POST', path: '/organization/invitations/accept', body: 'object' },
    deleteInvitation: { method: 'DELETE', path: '/organization/invitations/{id}' },
    listMembers: { method: 'GET', path: '/organization/members' },
    updateMember: { method: 'PATCH', path: '/organization/members/{userId}', body: 'object' },
    removeMember: { method: 'DELETE', path: '/organization/members/{userId}' },
  },
  oncall: {
    listOncallServices: { method: 'GET', path: '/oncall/services' },
    createOncallService: { method: 'POST', path: '/oncall/services', body: 'object', idempotent: true },
  },
  tokens: {
    listTokens: { method: 'GET', path: '/tokens', query: ['limit', 'cursor'], paged: true },
    createToken: { method: 'POST', path: '/tokens', body: 'object', idempotent: true },
    listScopeOptions: { method: 'GET', path: '/tokens/scope-options' },
    updateToken: { method: 'PATCH', path: '/tokens/{id}', body: 'object' },
    deleteToken: { method: 'DELETE', path: '/tokens/{id}' },
  },
  uptime: {
    listUptimeServices: { method: 'GET', path: '/uptime/services' },
    createUptimeService: { method: 'POST', path: '/uptime/services', body: 'object', idempotent: true },
    renameUptimeService: { method: 'PATCH', path: '/uptime/services/{id}', body: 'object' },
    deleteUptimeService: { method: 'DELETE', path: '/uptime/services/{id}' },
  },
};
