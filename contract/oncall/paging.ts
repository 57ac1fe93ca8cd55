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

const OncallPagingTest = named(
  'OncallPagingTest',
  Type.Object({
    startedAt: Type.Optional(DateTime),
    pages: Type.Array(
      Type.Object({
        id: Type.String(),
        channel: oneOf(channelNames),
        address: Type.Optional(Type.String({ description: 'Where it goes; absent when you have given none' })),
        state: oneOf(['queued', 'sending', 'sent', 'delivered', 'confirmed', 'failed', 'canceled']),
        attempts: Type.Integer(),
        error: Type.Optional(Type.String({ description: 'Why it failed, or why it has not gone out yet' })),
        warning: Type.Optional(
          Type.String({ description: 'What is known to keep it from arriving; only in the answer that starts a test' }),
        ),
        sentAt: Type.Optional(DateTime),
        endedAt: Type.Optional(DateTime),
      }),
    ),
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
    kinds: ['oncall.paging'],
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
    kinds: ['oncall.paging'],
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
  testPaging: op({
    method: 'POST',
    path: '/oncall/me/test',
    summary: 'Page me now',
    description:
      'Sends one test page to the caller by each channel of their rules, or by the channels named, as a page of an incident goes. At most one test a minute of a person. A `warning` says what is known to keep a page away; it is tried all the same. A token that is narrowed to roles is refused.',
    permission: 'member',
    kinds: ['oncall.paging'],
    personal: true,
    body: input({
      channels: Type.Optional(
        Type.Array(oneOf(channelNames), { minItems: 1, maxItems: channelNames.length, description: 'Those of your rules by default' }),
      ),
    }),
    responses: { 202: OncallPagingTest },
    errors: { 429: 'a test of yours began less than a minute ago, or too many requests; Retry-After says when to come back' },
    extension: true,
  }),
  getPagingTest: op({
    method: 'GET',
    path: '/oncall/me/test',
    summary: 'What became of my test pages',
    description:
      'Of the newest test in this organization; `pages` is empty before the first. A page by mail is `sent` once the relay has accepted it, an SMS is `delivered` by the provider’s report, and each is `confirmed` when you answer it. A failed page has its reason in `error`. A token that is narrowed to roles is refused.',
    permission: 'member',
    kinds: ['oncall.paging'],
    personal: true,
    responses: { 200: OncallPagingTest },
    extension: true,
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
