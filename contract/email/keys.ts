import Type from 'typebox';
import { DateTime, input, Name, Narrowing, named, op } from '../common.ts';

const EmailSendKey = named(
  'EmailSendKey',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    keyId: Type.String({ description: 'The user name for SMTP submission' }),
    domainIds: Type.Array(Type.String(), { description: 'Empty: not narrowed, every domain of the organization' }),
    createdAt: DateTime,
    lastUsedAt: Type.Optional(DateTime),
  }),
);

export const keyOps = {
  listSendKeys: op({
    method: 'GET',
    path: '/email/keys',
    summary: 'List send keys',
    description: 'Secrets are never shown again. A caller whose role is granted on domains sees the keys that send for none but these.',
    permission: 'email.key.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Object({ sendKeys: Type.Array(EmailSendKey) }) },
  }),
  createSendKey: op({
    method: 'POST',
    path: '/email/keys',
    summary: 'Mint a send key',
    description:
      'The secret is the bearer for HTTP sending and the password for SMTP submission. It is returned only here. A caller whose role is granted on domains names these, or some of them, in `domainIds`.',
    permission: 'email.key.admin',
    fresh: true,
    scoped: true,
    entitlement: 'email',
    body: input({
      name: Name,
      domainIds: Type.Optional(Narrowing('Only for mail from these domains; absent: from every domain of the organization')),
    }),
    responses: { 201: Type.Object({ sendKey: EmailSendKey, secret: Type.String() }) },
    errors: { 404: 'unknown domain, or not of this organization; the sentence names it' },
    codes: { 403: ['quota_reached'] },
    secret: true,
  }),
  revokeSendKey: op({
    method: 'DELETE',
    path: '/email/keys/{id}',
    summary: 'Revoke a send key for good',
    description: 'A caller whose role is granted on domains revokes the keys that send for none but these.',
    permission: 'email.key.admin',
    scoped: true,
    entitlement: 'email',
    responses: { 204: null },
  }),
};
