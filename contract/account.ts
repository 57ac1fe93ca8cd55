import Type from 'typebox';
import { area, DateTime, input, Name, named, oneOf, op } from './common.ts';
import { signInMethods } from './sign-in-methods.ts';

const Session = named(
  'Session',
  Type.Object({
    id: Type.String(),
    isCurrent: Type.Boolean({ description: 'The session that asks' }),
    methods: Type.Array(oneOf(signInMethods), { description: 'How the person signed in' }),
    address: Type.String({ description: 'The address it began at' }),
    agent: Type.String({ description: 'The browser it began in, as that names itself' }),
    createdAt: DateTime,
    lastSeenAt: DateTime,
    endsAt: Type.String({ format: 'date-time', description: 'When it ends without further use' }),
  }),
);

const Security = named(
  'Security',
  Type.Object({
    requiresSecondFactor: Type.Boolean({
      description: 'Whether people need a second factor to act here in a browser: a passkey, or an authenticator app besides the password',
    }),
    membersWithout: Type.Integer({ description: 'Members who have no second factor' }),
    members: Type.Array(
      Type.Object({
        userId: Type.String(),
        email: Type.String(),
        name: Type.String(),
        tokens: Type.Integer({ description: 'Live tokens, which go on whatever is required' }),
      }),
      { description: 'Those members; at most 100' },
    ),
  }),
);

export const account = area(
  {
    name: 'account',
    label: 'Your account',
    description: 'How a person signs in, and where they are signed in',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    listSessions: op({
      method: 'GET',
      path: '/me/sessions',
      summary: 'Where you are signed in',
      permission: 'member',
      kinds: [],
      personal: true,
      responses: { 200: Type.Object({ sessions: Type.Array(Session) }) },
      extension: true,
    }),
    endSession: op({
      method: 'DELETE',
      path: '/me/sessions/{id}',
      summary: 'Sign out there',
      description:
        'Effective in every process at once; requests under way with it are refused. Registry logins and kubeconfigs that it made end with it.',
      permission: 'member',
      kinds: [],
      personal: true,
      session: true,
      responses: { 204: null },
      extension: true,
    }),
    getSecurity: op({
      method: 'GET',
      path: '/organization/security',
      summary: 'Whether a second factor is required, and who has none',
      permission: 'organization.member.admin',
      responses: { 200: Security },
      extension: true,
    }),
    updateSecurity: op({
      method: 'PATCH',
      path: '/organization/security',
      summary: 'Require a second factor',
      description:
        'Effective at once for every session: people without a second factor are refused here until they add one on their account page. Tokens go on, and the operator’s link still signs in.',
      permission: 'organization.member.admin',
      fresh: true,
      body: input({ requiresSecondFactor: Type.Optional(Type.Boolean()) }),
      responses: { 200: Security },
      errors: { 409: 'the caller’s own session has no second factor' },
      extension: true,
    }),
    createDeviceCode: op({
      method: 'POST',
      path: '/device/codes',
      summary: 'Ask a person to let a program act for them',
      description:
        'Needs no token. Show the person `verificationUrl` and `userCode`; they open the one and type the other. Meanwhile claim the token every `intervalSeconds`. `quarterdeck login` does all this.',
      permission: 'none',
      body: input({ program: Type.Optional({ ...Name, description: 'What asks, and where it runs: shown to the person. Trimmed' }) }),
      responses: {
        201: Type.Object({
          deviceCode: Type.String({ description: 'For the program alone: it claims the token with it' }),
          userCode: Type.String({ description: 'For the person to type: XXXX-XXXX' }),
          verificationUrl: Type.String({ description: 'The page on which the person types it' }),
          expiresAt: Type.String({ format: 'date-time', description: 'When both codes end; 10 minutes after they were made' }),
          intervalSeconds: Type.Integer({ description: 'How long to wait between two claims' }),
        }),
      },
      secret: true,
      extension: true,
    }),
    claimDeviceToken: op({
      method: 'POST',
      path: '/device/tokens',
      summary: 'Fetch the token that a person approved',
      description:
        'Answers once; the device code is spent. The token belongs to the person who approved and is narrowed as they chose. The approval falls if they signed out or left the organization before.',
      permission: 'none',
      body: input({ deviceCode: Type.String({ minLength: 1, maxLength: 100, description: 'From createDeviceCode' }) }),
      responses: {
        201: Type.Object({
          tokenId: Type.String(),
          key: Type.String({ description: 'Shown only here' }),
          orgSlug: Type.String({ description: 'The organization that it acts in' }),
          userId: Type.String({ description: 'The person who approved' }),
          expiresAt: DateTime,
        }),
      },
      errors: {
        403: '`access_denied`: the person refused, or signed out or left the organization before this; `forbidden`: the person does not hold what they approved any more',
        404: 'unknown or used; `expired`: over',
        409: '`authorization_pending`: not approved yet; `slow_down`: asked again too soon; `conflict`: the person has as many tokens as there can be',
      },
      codes: { 403: ['access_denied', 'second_factor_required'], 404: ['expired'], 409: ['authorization_pending', 'slow_down'] },
      secret: true,
      extension: true,
    }),
  },
);
