import Type from 'typebox';
import { area, DateTime, input, Name, Narrowing, named, nextCursor, oneOf, op, page } from './common.ts';
import { organizationRoles, tiers } from './permissions.ts';

const permissionList = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
  minItems: 1,
  maxItems: 200,
  description: 'Permission atoms from /iam/permissions',
});

export const IamRole = named(
  'IamRole',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    description: Type.String(),
    kind: oneOf(['builtin', 'custom']),
    service: Type.Optional(Type.String()),
    scopable: Type.Boolean(),
    permissions: Type.Array(Type.String()),
  }),
);

export const IamResource = named('IamResource', Type.Object({ service: Type.String(), id: Type.String(), name: Type.String() }));

const PermissionCatalogTier = named(
  'PermissionCatalogTier',
  Type.Object({ permission: Type.String(), tier: oneOf(tiers), label: Type.String() }),
);

const PermissionCatalogService = named(
  'PermissionCatalogService',
  Type.Object({
    service: Type.String(),
    serviceLabel: Type.String(),
    resources: Type.Array(Type.Object({ resource: Type.String(), resourceLabel: Type.String(), tiers: Type.Array(PermissionCatalogTier) })),
  }),
);

export const IamGrant = named(
  'IamGrant',
  Type.Object({
    id: Type.String(),
    subject: Type.String({ description: 'The id of a member' }),
    role: Type.String(),
    roleName: Type.String(),
    resourceIds: Type.Array(Type.String(), { description: 'Empty: not narrowed to resources' }),
    createdAt: DateTime,
  }),
);

export const iam = area(
  {
    name: 'iam',
    label: 'Access management',
    description: 'Roles, grants, and the catalogs behind them',
    unauthenticated: 'unauthenticated',
    away: 503,
    errors: { 403: 'requires grant management (owner or admin)' },
  },
  {
    getIamCatalog: op({
      method: 'GET',
      path: '/iam/catalog',
      summary: 'Grantable roles and scopable resources',
      permission: 'iam.grant.admin',
      kinds: ['iam.role', 'iam.grant'],
      responses: { 200: Type.Object({ roles: Type.Array(IamRole), resources: Type.Array(IamResource) }) },
    }),
    listPermissions: op({
      method: 'GET',
      path: '/iam/permissions',
      summary: 'Every permission, for authoring custom roles',
      permission: 'member',
      kinds: [],
      responses: { 200: Type.Object({ services: Type.Array(PermissionCatalogService) }) },
    }),
    listRoles: op({
      method: 'GET',
      path: '/iam/roles',
      summary: 'List roles',
      permission: 'member',
      kinds: ['iam.role'],
      responses: { 200: Type.Object({ roles: Type.Array(IamRole) }) },
      extension: true,
    }),
    createRole: op({
      method: 'POST',
      path: '/iam/roles',
      summary: 'Create a custom role',
      permission: 'iam.role.admin',
      fresh: true,
      body: input({ name: Name, description: Type.Optional(Type.String({ maxLength: 500 })), permissions: permissionList }),
      responses: { 201: IamRole },
      errors: {
        400: 'an unknown permission, or an invalid field',
        403: 'the role would hold what its author does not',
        409: 'a role with this name exists, or as many as there can be',
      },
      extension: true,
    }),
    updateRole: op({
      method: 'PATCH',
      path: '/iam/roles/{id}',
      summary: 'Change a custom role',
      description: 'Takes effect at once for everybody who holds it, and for every token narrowed to it.',
      permission: 'iam.role.admin',
      fresh: true,
      body: input({
        name: Type.Optional(Name),
        description: Type.Optional(Type.String({ maxLength: 500 })),
        permissions: Type.Optional(permissionList),
      }),
      responses: { 200: IamRole },
      errors: { 403: 'the role would hold what its author does not, or is built in', 409: 'a role with this name exists' },
      extension: true,
    }),
    deleteRole: op({
      method: 'DELETE',
      path: '/iam/roles/{id}',
      summary: 'Delete a custom role',
      description: 'Refused while somebody is granted it. Tokens narrowed to it keep the dead id, which matches nothing.',
      permission: 'iam.role.admin',
      kinds: ['iam.role', 'iam.grant'],
      fresh: true,
      responses: { 204: null },
      errors: { 403: 'the role is built in', 409: 'the role is still granted' },
      extension: true,
    }),
    listGrants: op({
      method: 'GET',
      path: '/iam/grants',
      summary: 'Who holds which role',
      permission: 'iam.grant.admin',
      query: input({ subject: Type.Optional(Type.String({ maxLength: 100 })), ...page }),
      responses: { 200: Type.Object({ grants: Type.Array(IamGrant), cursor: nextCursor }) },
      extension: true,
    }),
    getEffectivePermissions: op({
      method: 'GET',
      path: '/iam/effective',
      summary: 'What may this person do?',
      description:
        'Everything that a member holds, by their role in the organization and by grants, as the guards compute it. A token of theirs may hold less.',
      permission: 'iam.grant.admin',
      query: input({ userId: Type.String({ minLength: 1, maxLength: 100, description: 'The id of a member' }) }),
      responses: {
        200: Type.Object({
          userId: Type.String(),
          email: Type.String(),
          name: Type.String(),
          role: oneOf(organizationRoles, { description: 'In the organization' }),
          permissions: Type.Array(
            Type.Object({
              permission: Type.String(),
              label: Type.String(),
              everywhere: Type.Boolean({ description: 'On the whole organization' }),
              resources: Type.Integer({ minimum: 0, description: 'How many resources it is narrowed to; 0 when everywhere' }),
              resourceIds: Type.Array(Type.String(), { description: 'The first 100 of these' }),
              roles: Type.Array(Type.String(), { description: 'The roles that give it' }),
            }),
            { description: 'In the order of the catalog; what they do not hold is absent' },
          ),
        }),
      },
      errors: { 404: 'no member of this organization' },
      extension: true,
    }),
    createGrant: op({
      method: 'POST',
      path: '/iam/grants',
      summary: 'Grant a role to a member',
      permission: 'iam.grant.admin',
      fresh: true,
      body: input({
        subject: Type.String({ minLength: 1, maxLength: 100, description: 'The id of a member' }),
        role: Type.String({ minLength: 1, maxLength: 100 }),
        resourceIds: Type.Optional(Narrowing('Only on these resources')),
      }),
      responses: { 201: IamGrant },
      errors: {
        400: 'unknown role or subject, or an invalid resource selector',
        403: 'the role holds what the granter does not',
        409: 'the member already holds this role this way, or as many grants as there can be',
      },
      extension: true,
    }),
    deleteGrant: op({
      method: 'DELETE',
      path: '/iam/grants/{id}',
      summary: 'Take a role away',
      permission: 'iam.grant.admin',
      fresh: true,
      responses: { 204: null },
      errors: { 403: 'the role holds what the caller does not' },
      extension: true,
    }),
  },
);
