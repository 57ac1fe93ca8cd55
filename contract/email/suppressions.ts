import Type from 'typebox';
import { DateTime, Email, input, named, nextCursor, oneOf, op, page } from '../common.ts';

const EmailSuppression = named(
  'EmailSuppression',
  Type.Object({ id: Type.String(), address: Type.String(), reason: oneOf(['bounce', 'complaint', 'manual']), createdAt: DateTime }),
);

export const suppressionOps = {
  listSuppressions: op({
    method: 'GET',
    path: '/email/suppressions',
    summary: 'List suppressed addresses',
    description: 'Addresses that get no mail from the organization: they bounced, complained, or were added by hand. Newest first.',
    permission: 'email.suppression.read',
    entitlement: 'email',
    query: input(page),
    responses: { 200: Type.Object({ suppressions: Type.Array(EmailSuppression), cursor: nextCursor }) },
  }),
  createSuppression: op({
    method: 'POST',
    path: '/email/suppressions',
    summary: 'Suppress an address',
    description: 'One that is suppressed already is answered with its entry, whatever the reason.',
    permission: 'email.suppression.write',
    entitlement: 'email',
    body: input({ address: Email }),
    responses: { 201: EmailSuppression },
    errors: { 409: 'the organization has 100,000 suppressed addresses, or the Idempotency-Key was used before in another way' },
  }),
  deleteSuppression: op({
    method: 'DELETE',
    path: '/email/suppressions/{id}',
    summary: 'Deliver to an address again',
    description: 'The next hard bounce adds it again.',
    permission: 'email.suppression.write',
    entitlement: 'email',
    responses: { 204: null },
  }),
};
