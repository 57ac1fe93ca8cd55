import Type from 'typebox';
import { DateTime, input, named, nullable, oneOf, op } from '../common.ts';
import { channelNames } from './channels.ts';

const rule = {
  channel: oneOf(channelNames),
  delaySeconds: Type.Integer({ minimum: 0, maximum: 86_400, description: 'After the step that pages you' }),
};
const OncallNotificationRule = named('OncallNotificationRule', Type.Object(rule));
const OncallNotificationRuleInput = named('OncallNotificationRuleInput', input(rule));

const OncallPaging = named(
  'OncallPaging',
  Type.Object({
    email: Type.String({ description: 'Your address here; it cannot be set' }),
    phone: nullable(Type.String(), 'null while you have given none'),
    rules: Type.Array(OncallNotificationRule, { description: 'An email at once until you save others' }),
  }),
);

const unset = 'null while not configured';
const OncallProvider = named(
  'OncallProvider',
  Type.Object({
    configured: Type.Boolean(),
    accountSid: nullable(Type.String(), unset),
    fromNumber: nullable(Type.String(), unset),
    updatedAt: nullable(DateTime, unset),
  }),
);

export const pagingOps = {
  getPagingSettings: op({
    method: 'GET',
    path: '/oncall/me/settings',
    summary: 'How you are paged',
    description:
      'Your own settings, phone number included, and the same in every organization of yours: a token that is narrowed to roles is refused.',
    permission: 'member',
    personal: true,
    responses: { 200: OncallPaging },
  }),
  savePagingSettings: op({
    method: 'PUT',
    path: '/oncall/me/settings',
    summary: 'Save how you are paged',
    description:
      'Replaces everything, in every organization of yours: without a phone the one you gave is forgotten. sms and voice need your phone and the organization’s provider; one that has none cannot page you by them. A token that is narrowed to roles is refused.',
    permission: 'member',
    personal: true,
    body: input({
      phone: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: 'In E.164 format, such as +33612345678' })),
      rules: Type.Array(OncallNotificationRuleInput, { minItems: 1, maxItems: 10 }),
    }),
    responses: { 200: OncallPaging },
    errors: {
      400: 'sms or voice without a phone, a phone that is not E.164, or an invalid field',
      409: 'sms or voice, but the organization has no provider credential',
    },
  }),
  getProvider: op({
    method: 'GET',
    path: '/oncall/provider',
    summary: 'The SMS and voice provider',
    description: 'The organization’s own account, billed by the provider for the pages sent. The auth token is never shown.',
    permission: 'oncall.provider.read',
    responses: { 200: OncallProvider },
  }),
  setProvider: op({
    method: 'PUT',
    path: '/oncall/provider',
    summary: 'Set the SMS and voice provider',
    description: 'The credentials are tried with the provider first; nothing is stored unless it takes them.',
    permission: 'oncall.provider.admin',
    body: input({
      accountSid: Type.String({ maxLength: 34, pattern: '^AC[0-9a-fA-F]{32}$', description: 'A Twilio account: AC and 32 hex digits' }),
      authToken: Type.String({ minLength: 1, maxLength: 200, description: 'Kept sealed, never returned' }),
      fromNumber: Type.String({ minLength: 1, maxLength: 20, description: 'A number of the account, in E.164 format' }),
    }),
    responses: { 200: OncallProvider },
    errors: {
      422: 'the provider rejects the credentials or the number; the sentence carries its reason',
      502: 'the provider cannot be reached',
    },
  }),
  clearProvider: op({
    method: 'DELETE',
    path: '/oncall/provider',
    summary: 'Forget the SMS and voice provider',
    description: 'Afterwards each sms and voice page fails visibly for want of a credential; none is dropped silently.',
    permission: 'oncall.provider.admin',
    responses: { 204: null },
  }),
};
