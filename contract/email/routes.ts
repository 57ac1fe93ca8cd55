import Type from 'typebox';
import { DateTime, Id, input, named, oneOf, op } from '../common.ts';

const EmailRoute = named(
  'EmailRoute',
  Type.Object({
    id: Type.String(),
    domainId: Type.String(),
    pattern: Type.String({ description: 'The local part: exact text, a prefix ending in a star, or a lone star' }),
    endpointId: Type.String({ description: 'The webhook endpoint that receives what matches' }),
    createdAt: DateTime,
  }),
);

/** The characters between the dots of a local part (RFC 5322, atext), without the star. */
const atom = "[A-Za-z0-9!#$%&'+/=?^_`{|}~-]+";

export const routeOps = {
  listRoutes: op({
    method: 'GET',
    path: '/email/routes',
    summary: 'List inbound routes',
    permission: 'email.route.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Object({ routes: Type.Array(EmailRoute) }) },
  }),
  createRoute: op({
    method: 'POST',
    path: '/email/routes',
    summary: 'Route inbound mail to a webhook',
    description:
      'The domain must be armed for receiving. An exact pattern wins over a prefix, a longer prefix over a shorter one. The endpoint gets `email.received` for its matches whatever it subscribes to.',
    permission: 'email.route.write',
    scoped: true,
    entitlement: 'email',
    body: input({
      domainId: Id('The receiving domain'),
      pattern: Type.String({
        minLength: 1,
        maxLength: 65,
        pattern: `^(?:\\*|${atom}(?:\\.${atom})*(?:\\.?\\*)?)$`,
        description:
          'The local part of an address, at most 64 letters, digits, dots and signs such as + or -, or its beginning and a star, or a lone star: `support`, `team-*`, `*`',
      }),
      endpointId: Id('A webhook endpoint of the organization'),
    }),
    responses: { 201: EmailRoute },
    codes: { 403: ['quota_reached'] },
    errors: {
      400: 'a pattern that no local part can match, or an invalid field',
      404: 'unknown domain or endpoint, or not of this organization; the sentence names which',
      409: 'the pattern already exists on the domain, or receiving is not armed',
    },
  }),
  matchRoute: op({
    method: 'POST',
    path: '/email/routes/match',
    summary: 'Where would this address go?',
    changesNothing: true,
    description: 'Decides as for mail that arrives, by the routes and domains of now. Nothing is sent.',
    permission: 'email.route.read',
    scoped: true,
    entitlement: 'email',
    body: input({ address: Type.String({ minLength: 3, maxLength: 320, description: 'An address such as support@example.com' }) }),
    responses: {
      200: Type.Object({
        address: Type.String({ description: 'With its domain in lower-case ASCII' }),
        outcome: oneOf(['routed', 'unverified', 'no_route', 'not_received', 'return_path'], {
          description:
            '`routed`: accepted; `unverified`: put off until the records of the domain are found; the others are refused, except reports',
        }),
        sentence: Type.String({ description: 'What happens to the mail, and what to do about it' }),
        domainId: Type.Optional(Type.String()),
        routeId: Type.Optional(Type.String()),
        pattern: Type.Optional(Type.String()),
        endpointId: Type.Optional(Type.String()),
        endpointDisabled: Type.Optional(Type.Boolean({ description: 'Whether its deliveries fail, because the endpoint is disabled' })),
      }),
    },
    errors: { 400: 'no address, or an invalid field' },
    extension: true,
  }),
  deleteRoute: op({
    method: 'DELETE',
    path: '/email/routes/{id}',
    summary: 'Delete an inbound route',
    permission: 'email.route.write',
    scoped: true,
    entitlement: 'email',
    responses: { 204: null },
  }),
};
