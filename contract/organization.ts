import Type from 'typebox';
import { area, DateTime, DateTimeInput, Email, input, Name, named, nextCursor, nullable, oneOf, op, page } from './common.ts';
import { organizationRoles } from './permissions.ts';
import { signInMethods } from './sign-in-methods.ts';

const Contacts = named('Contacts', Type.Object({ billingEmail: Email, technicalEmail: Email, securityEmail: Email }));

const Organization = named(
  'Organization',
  Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String(), createdAt: DateTime }),
);

const Member = named(
  'Member',
  Type.Object({
    userId: Type.String(),
    email: Type.String(),
    name: Type.String(),
    role: oneOf(organizationRoles),
    joinedAt: DateTime,
  }),
);

const Invitation = named(
  'Invitation',
  Type.Object({
    id: Type.String(),
    email: Type.String(),
    role: oneOf(organizationRoles),
    invitedBy: Type.Optional(
      nullable(Type.String(), 'The user who invited; null for the operator, and where an older release did not note it; always present'),
    ),
    createdAt: DateTime,
    expiresAt: DateTime,
  }),
);

const Rights = named(
  'Rights',
  Type.Object({
    role: oneOf(organizationRoles, { description: 'In the acting organization; a narrowed token may have less than it gives' }),
    permissions: Type.Unsafe<Record<string, '*' | string[]>>({
      type: 'object',
      additionalProperties: {
        anyOf: [
          { type: 'string', enum: ['*'] },
          { type: 'array', items: { type: 'string' } },
        ],
      },
      description:
        'What is held now, and where: `*` on everything, else on the resources of these ids. With ids, operations that are not marked `x-scoped` are refused',
    }),
    entitlements: Type.Array(Type.String(), { description: 'What the operator enabled for the organization' }),
    narrowed: Type.Boolean({ description: 'Asked with a narrowed token: operations marked `x-personal` are refused' }),
    session: Type.Boolean({ description: 'Asked by a session; operations marked `x-session` refuse tokens' }),
    fresh: Type.Boolean({
      description: 'Whether operations marked `x-fresh` pass now: for a session within 15 minutes of its proof, for a token always',
    }),
    secondFactorRequired: Type.Boolean({
      description:
        'Whether the organization asks sessions for a second factor; one without it gets 403 `second_factor_required` instead of this answer',
    }),
  }),
);

const SessionProof = named(
  'SessionProof',
  Type.Object(
    {
      id: Type.String(),
      methods: Type.Array(oneOf(signInMethods), { description: 'How you proved who you are' }),
      freshUntil: Type.String({
        format: 'date-time',
        description:
          'After this, operations marked `x-fresh` are refused (403 `reauthenticate`) until you prove it once more on the page /sign-in/again',
      }),
    },
    { description: 'The session that asks; absent for a token' },
  ),
);

const AuditEntry = named(
  'AuditEntry',
  Type.Object({
    id: Type.String(),
    at: DateTime,
    actor: Type.String({ description: 'Who acted: a user, or `operator` for the command line on the server' }),
    actorLabel: Type.String(),
    tokenId: Type.Optional(Type.String({ description: 'The token or session used, if any' })),
    action: Type.String(),
    target: Type.String(),
    requestId: Type.Optional(Type.String()),
    detail: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'What changed; never a secret',
    }),
  }),
);

const Installation = named(
  'Installation',
  Type.Object({
    version: Type.String({ description: 'The release of the server that answers, and behind a plus its build' }),
    servers: Type.Array(
      Type.Object({
        version: Type.Optional(Type.String({ description: 'Absent for a server of a release that does not tell it' })),
        roles: Type.Array(Type.String()),
      }),
      { description: 'Every running server process; at most 100' },
    ),
    database: Type.Object({
      kind: oneOf(['embedded', 'external']),
      version: Type.String({ description: 'Of PostgreSQL' }),
    }),
    disk: oneOf(['ok', 'low', 'full', 'unknown'], { description: 'The disk of the data directory of the server that answers' }),
    held: Type.Boolean({ description: 'Whether everything that leaves waits for the operator after a restore' }),
  }),
);

export const organization = area(
  {
    name: 'organization',
    label: 'Organization',
    description: 'The organization itself: contacts, members, invitations, audit log',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    getContacts: op({
      method: 'GET',
      path: '/organization/contacts',
      summary: 'Contact addresses',
      permission: 'member',
      kinds: ['organization.contacts'],
      responses: { 200: Contacts },
    }),
    updateContacts: op({
      method: 'PATCH',
      path: '/organization/contacts',
      summary: 'Change contact addresses',
      permission: 'organization.contacts.write',
      body: input({ billingEmail: Type.Optional(Email), technicalEmail: Type.Optional(Email), securityEmail: Type.Optional(Email) }),
      responses: { 200: Contacts },
      errors: {
        400: 'an address is invalid',
        403: 'not owner or admin',
        409: 'a billing email collides at the payment provider',
        502: 'the payment provider is unreachable',
      },
    }),
    getOrganization: op({
      method: 'GET',
      path: '/organization',
      summary: 'The acting organization',
      permission: 'member',
      kinds: ['organization.profile'],
      responses: { 200: Organization },
      extension: true,
    }),
    updateOrganization: op({
      method: 'PATCH',
      path: '/organization',
      summary: 'Rename the organization',
      permission: 'organization.profile.write',
      body: input({ name: Type.Optional(Name) }),
      responses: { 200: Organization },
      extension: true,
    }),
    listMembers: op({
      method: 'GET',
      path: '/organization/members',
      summary: 'List members',
      permission: 'member',
      kinds: ['organization.member'],
      query: input(page),
      responses: { 200: Type.Object({ members: Type.Array(Member), cursor: nextCursor }) },
      extension: true,
    }),
    updateMember: op({
      method: 'PATCH',
      path: '/organization/members/{userId}',
      summary: 'Change a member’s organization role',
      permission: 'organization.member.admin',
      fresh: true,
      body: input({ role: Type.Optional(oneOf(organizationRoles)) }),
      responses: { 200: Member },
      errors: { 403: 'the old or the new role holds what the caller does not', 409: 'the last owner cannot be demoted' },
      extension: true,
    }),
    removeMember: op({
      method: 'DELETE',
      path: '/organization/members/{userId}',
      summary: 'Remove a member, or leave',
      description:
        'Their grants and tokens of this organization end at once. Any member may remove themselves. They are taken off call: rotations go on with the next in line, and the audit log says what that changed.',
      permission: 'member',
      kinds: ['organization.member', 'iam.grant', 'oncall.schedule'],
      fresh: true,
      responses: { 204: null },
      errors: { 403: 'only owners and admins remove others', 409: 'the last owner cannot leave' },
      extension: true,
    }),
    listInvitations: op({
      method: 'GET',
      path: '/organization/invitations',
      summary: 'Open invitations',
      permission: 'organization.member.admin',
      responses: { 200: Type.Object({ invitations: Type.Array(Invitation) }) },
      extension: true,
    }),
    createInvitation: op({
      method: 'POST',
      path: '/organization/invitations',
      summary: 'Invite somebody by a link',
      description:
        'The link is shown only here and works once, for 7 days. It is also mailed to the address, where mail leaves the server; else send it to the person yourself.',
      permission: 'organization.member.admin',
      fresh: true,
      body: input({ email: Email, role: Type.Optional(oneOf(organizationRoles)) }),
      responses: {
        201: Type.Object({
          invitation: Invitation,
          link: Type.String(),
          mailed: Type.Optional(
            Type.Boolean({
              description: 'Whether the link is on its way to the address by mail; if not, send it yourself; always present',
            }),
          ),
        }),
      },
      errors: {
        403: 'the role holds what the caller does not',
        409: 'already a member, or invited to a role that the caller may not take away, or as many members and invitations as there can be',
      },
      secret: true,
      extension: true,
    }),
    deleteInvitation: op({
      method: 'DELETE',
      path: '/organization/invitations/{id}',
      summary: 'Withdraw an invitation',
      permission: 'organization.member.admin',
      responses: { 204: null },
      extension: true,
    }),
    acceptInvitation: op({
      method: 'POST',
      path: '/organization/invitations/accept',
      summary: 'Join by an invitation link',
      description:
        'Needs no token, except of somebody whose account the operator made. With a token of the invited address, that account joins; without one the link makes an account, or takes up that of a former member of the organization. Answers with a token for the new organization.',
      permission: 'none',
      body: input({
        secret: Type.String({ minLength: 1, maxLength: 100, description: 'The last part of the link' }),
        name: Type.Optional(Name),
      }),
      responses: { 201: Type.Object({ userId: Type.String(), orgSlug: Type.String(), key: Type.String() }) },
      errors: {
        401: 'unauthenticated',
        403: 'the invitation is for another account',
        404: 'unknown, used or expired invitation',
        409: 'a member already, or the operator made an account for the address: accept with its own token',
      },
      secret: true,
      extension: true,
    }),
    listAudit: op({
      method: 'GET',
      path: '/organization/audit',
      summary: 'Who did what, newest first',
      description: 'Filters narrow each other. Pass the cursor back with the same filters.',
      permission: 'organization.audit.read',
      query: input({
        from: Type.Optional(DateTimeInput),
        to: Type.Optional(DateTimeInput),
        actor: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'A user’s id or address, or another actor as the log has it: `operator`',
          }),
        ),
        target: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The id of what was acted on' })),
        action: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 100,
            pattern: '^[a-z0-9][a-z0-9.-]*$',
            description: 'The beginning of an action in lower-case letters, digits, dots and hyphens, such as `uptime.monitor`',
          }),
        ),
        ...page,
      }),
      responses: { 200: Type.Object({ entries: Type.Array(AuditEntry), cursor: nextCursor }) },
      errors: { 400: 'a filter is invalid, or the cursor belongs to other filters' },
      extension: true,
    }),
    getInstallation: op({
      method: 'GET',
      path: '/installation',
      summary: 'The running servers, their releases and roles, and the database',
      description: 'Names no host, address or path: the operator’s `admin doctor` does.',
      permission: 'member',
      kinds: [],
      responses: { 200: Installation },
      extension: true,
    }),
    getMyRights: op({
      method: 'GET',
      path: '/me/rights',
      summary: 'What you may do',
      description: 'In the acting organization, from what every request is judged by. It decides nothing: rights may change at any moment.',
      permission: 'member',
      kinds: [],
      responses: { 200: Rights },
      extension: true,
    }),
    getMe: op({
      method: 'GET',
      path: '/me',
      summary: 'Who you are',
      permission: 'member',
      kinds: ['organization.profile', 'organization.member'],
      responses: {
        200: Type.Object({
          id: Type.String(),
          email: Type.String(),
          name: Type.String(),
          organizations: Type.Array(Type.Object({ slug: Type.String(), name: Type.String(), role: oneOf(organizationRoles) }), {
            description: 'All that you belong to, the acting one first; with a token that is narrowed to roles, the acting one alone',
          }),
          session: Type.Optional(SessionProof),
        }),
      },
      extension: true,
    }),
  },
);
