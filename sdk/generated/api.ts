// Generated from openapi/v1.json by scripts/sdk.ts; do not edit.
import type { CallOptions, Paged } from '../types.ts';

export interface Api {
  tokens: TokensApi;
  iam: IamApi;
  organization: OrganizationApi;
  oncall: OncallApi;
  uptime: UptimeApi;
}

/** Personal API tokens, bound to the acting organization and optionally narrowed by role and resource */
export interface TokensApi {
  /** List your tokens. The caller’s own tokens of the acting organization, newest first. Keys are never shown again. */
  listTokens: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    tokens: PersonalToken[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Mint a token. Its rights are, at every use, what its owner may do then, narrowed by its scope. A token minted by a token never exceeds the minting one: a missing scope becomes the minter’s. The key is returned only here. */
  createToken: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** Lifetime in seconds, 60 to 31,622,400 (366 days) */
    expiresIn?: number;
    scope?: TokenScope[];
  }, options?: CallOptions) => Promise<{
    id: string;
    key: string;
    orgSlug: string;
  }>;

  /** What a token’s scope can name. Built-in and custom roles that the caller may put into a scope, and the resources the caller can read. */
  listScopeOptions: (options?: CallOptions) => Promise<{
    roles: TokenScopeRole[];
    resources: TokenScopeResource[];
  }>;

  /** Rename, switch off or on, or re-scope a token */
  updateToken: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    enabled?: boolean;
    scope?: TokenScope[];
  }, options?: CallOptions) => Promise<PersonalToken>;

  /** Revoke a token for good. Effective in every process at once; requests under way with it are cut off. */
  deleteToken: (id: string, options?: CallOptions) => Promise<void>;
}

/** Roles, grants, and the catalogs behind them */
export interface IamApi {
  /** Grantable roles and scopable resources */
  getIamCatalog: (options?: CallOptions) => Promise<{
    roles: IamRole[];
    resources: IamResource[];
  }>;

  /** Who holds which role */
  listGrants: (input?: {
    subject?: string;
  }, options?: CallOptions) => Promise<{
    grants: IamGrant[];
  }>;

  /** Grant a role to a member */
  createGrant: (input: {
    /** The id of a member */
    subject: string;
    role: string;
    /** Only on these resources */
    resourceIds?: string[];
  }, options?: CallOptions) => Promise<IamGrant>;

  /** Take a role away */
  deleteGrant: (id: string, options?: CallOptions) => Promise<void>;

  /** Every permission, for authoring custom roles */
  listPermissions: (options?: CallOptions) => Promise<{
    services: PermissionCatalogService[];
  }>;

  /** List roles */
  listRoles: (options?: CallOptions) => Promise<{
    roles: IamRole[];
  }>;

  /** Create a custom role */
  createRole: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    description?: string;
    /** Permission atoms from /iam/permissions */
    permissions: string[];
  }, options?: CallOptions) => Promise<IamRole>;

  /** Change a custom role. Takes effect at once for everybody who holds it, and for every token narrowed to it. */
  updateRole: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    description?: string;
    /** Permission atoms from /iam/permissions */
    permissions?: string[];
  }, options?: CallOptions) => Promise<IamRole>;

  /** Delete a custom role. Refused while somebody is granted it. Tokens narrowed to it keep the dead id, which matches nothing. */
  deleteRole: (id: string, options?: CallOptions) => Promise<void>;
}

/** The organization itself: contacts, members, invitations, audit log */
export interface OrganizationApi {
  /** Who you are */
  getMe: (options?: CallOptions) => Promise<{
    id: string;
    email: string;
    name: string;
    /** With a token: only the organization it is bound to */
    organizations: {
      slug: string;
      name: string;
      role: 'owner' | 'admin' | 'member';
    }[];
  }>;

  /** The acting organization */
  getOrganization: (options?: CallOptions) => Promise<Organization>;

  /** Rename the organization */
  updateOrganization: (input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
  }, options?: CallOptions) => Promise<Organization>;

  /** Who did what, newest first */
  listAudit: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    entries: AuditEntry[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Contact addresses */
  getContacts: (options?: CallOptions) => Promise<Contacts>;

  /** Change contact addresses */
  updateContacts: (input?: {
    billingEmail?: string;
    technicalEmail?: string;
    securityEmail?: string;
  }, options?: CallOptions) => Promise<Contacts>;

  /** Open invitations */
  listInvitations: (options?: CallOptions) => Promise<{
    invitations: Invitation[];
  }>;

  /** Invite somebody by a link. The link is shown only here and works once, for 7 days. Send it to the person yourself. */
  createInvitation: (input: {
    email: string;
    role?: 'owner' | 'admin' | 'member';
  }, options?: CallOptions) => Promise<{
    invitation: Invitation;
    link: string;
  }>;

  /** Join by an invitation link. Needs no token when the invited address is new here; somebody who already has an account accepts with a token of their own. Answers with a token for the new organization. */
  acceptInvitation: (input: {
    /** The last part of the link */
    secret: string;
    /** Trimmed; 1 to 100 characters */
    name?: string;
  }, options?: CallOptions) => Promise<{
    userId: string;
    orgSlug: string;
    key: string;
  }>;

  /** Withdraw an invitation */
  deleteInvitation: (id: string, options?: CallOptions) => Promise<void>;

  /** List members */
  listMembers: (options?: CallOptions) => Promise<{
    members: Member[];
  }>;

  /** Change a member’s organization role */
  updateMember: (userId: string, input?: {
    role?: 'owner' | 'admin' | 'member';
  }, options?: CallOptions) => Promise<Member>;

  /** Remove a member, or leave. Their grants and tokens of this organization end at once. Any member may remove themselves. */
  removeMember: (userId: string, options?: CallOptions) => Promise<void>;
}

/** Incidents, schedules, escalation policies, alert sources and who is paged how */
export interface OncallApi {
  /** List services and their escalation policies. The catalog is shared with uptime: both areas show the same services. */
  listOncallServices: (options?: CallOptions) => Promise<{
    services: OncallService[];
  }>;

  /** Create a service. Makes the same row as creating it under /uptime/services, without needing the Uptime entitlement. */
  createOncallService: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<OncallService>;
}

/** Services, HTTP and TCP monitors, what the probes saw, and metrics for scrapers */
export interface UptimeApi {
  /** List services. With live monitor counts. The catalog is shared with on-call: both areas show the same services. */
  listUptimeServices: (options?: CallOptions) => Promise<{
    services: UptimeService[];
  }>;

  /** Create a service */
  createUptimeService: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<UptimeService>;

  /** Rename a service */
  renameUptimeService: (id: string, input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<UptimeService>;

  /** Delete a service. Deletes nothing else with it: detach or delete its monitors and alert sources and resolve its incidents first. */
  deleteUptimeService: (id: string, options?: CallOptions) => Promise<void>;
}

export type AuditEntry = {
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Who acted: a user, or `operator` for the command line on the server */
  actor: string;
  actorLabel: string;
  /** The token used, if any */
  tokenId?: string;
  action: string;
  target: string;
  requestId?: string;
  /** What changed; never a secret */
  detail: Record<string, unknown>;
};

export type Contacts = {
  billingEmail: string;
  technicalEmail: string;
  securityEmail: string;
};

export type IamGrant = {
  id: string;
  /** The id of a member */
  subject: string;
  role: string;
  roleName: string;
  /** Empty: not narrowed to resources */
  resourceIds: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type IamResource = {
  service: string;
  id: string;
  name: string;
};

export type IamRole = {
  id: string;
  name: string;
  description: string;
  kind: 'builtin' | 'custom';
  service?: string;
  scopable: boolean;
  permissions: string[];
};

export type Invitation = {
  id: string;
  email: string;
  role: 'owner' | 'admin' | 'member';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
};

export type Member = {
  userId: string;
  email: string;
  name: string;
  role: 'owner' | 'admin' | 'member';
  /** ISO 8601, UTC, with milliseconds */
  joinedAt: string;
};

export type OncallService = {
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Absent: detached, new incidents of the service page no one */
  escalationPolicyId?: string;
};

export type Organization = {
  id: string;
  slug: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type PermissionCatalogService = {
  service: string;
  serviceLabel: string;
  resources: {
    resource: string;
    resourceLabel: string;
    tiers: PermissionCatalogTier[];
  }[];
};

export type PermissionCatalogTier = {
  permission: string;
  tier: 'read' | 'write' | 'admin';
  label: string;
};

export type PersonalToken = {
  id: string;
  name: string;
  /** The key’s prefix and its first 4 characters, to recognize it by */
  start: string;
  enabled: boolean;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** null until the token is first used; brought up to date every few seconds */
  lastRequest: string | null;
  orgSlug: string;
  /** Empty: not narrowed, all that its owner may do */
  scope: {
    role: string;
    roleName: string;
    /** Empty: not narrowed to resources */
    resourceIds: string[];
  }[];
};

export type TokenScope = {
  /** The id of a built-in or custom role */
  role: string;
  /** Ids of the resources to which the role is narrowed; absent: all that the owner can see */
  resourceIds?: string[];
};

export type TokenScopeResource = {
  service: string;
  id: string;
  name: string;
};

export type TokenScopeRole = {
  id: string;
  name: string;
  description: string;
  /** Whether the role may be narrowed to resource ids */
  scopable: boolean;
  service?: string;
};

export type UptimeService = {
  id: string;
  name: string;
  /** How many monitors the service has now */
  monitors: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};
