import Type from 'typebox';
import { area, DateTime, Id, input, Name, named, nextCursor, nullable, oneOf, op, page } from './common.ts';

const group = { name: Name, serviceIds: Type.Array(Id('Of a service that the page shows'), { minItems: 1, maxItems: 100 }) };

const StatusPageHeldBack = named(
  'StatusPageHeldBack',
  Type.Object({
    reason: oneOf(['recipient', 'client', 'organization'], { description: 'Whose limit was reached' }),
    mails: Type.Integer({ minimum: 1, description: 'First mails that did not leave for this reason' }),
    lastAt: DateTime,
    sentence: Type.String(),
  }),
);

const StatusPage = named(
  'StatusPage',
  Type.Object({
    slug: Type.String(),
    title: Type.String(),
    description: Type.Optional(Type.String()),
    serviceIds: Type.Array(Type.String(), {
      description: 'In the order in which they are shown; deleted services stay here and are not shown',
    }),
    groups: Type.Array(Type.Object({ name: Type.String(), serviceIds: Type.Array(Type.String()) }), {
      description: 'Headings over some of the services; those in no group come first',
    }),
    accentColour: Type.Optional(Type.String()),
    logoUrl: Type.Optional(Type.String({ description: 'Present when it has a logo' })),
    timezone: Type.String(),
    subscribers: Type.Integer({ minimum: 0, description: 'Readers who get its updates by mail, confirmed ones only' }),
    heldBack: Type.Optional(
      Type.Array(StatusPageHeldBack, {
        description:
          'Always present where one status page is asked for, and nowhere else. First mails to readers that were held back, by reason; a reason goes 30 days after the last of them',
      }),
    ),
    url: Type.String({ description: 'Where the public reads it' }),
    createdAt: DateTime,
  }),
);

const StatusPageSubscriber = named(
  'StatusPageSubscriber',
  Type.Object({
    id: Type.String(),
    address: Type.String(),
    state: oneOf(['pending', 'active'], { description: 'pending until the link in the first mail was followed; then active' }),
    createdAt: DateTime,
    confirmedAt: Type.Optional(DateTime),
  }),
);

const title = Type.String({ minLength: 1, maxLength: 200, 'x-trim': true, description: 'Trimmed; 1 to 200 characters' });
const description = Type.String({
  minLength: 1,
  maxLength: 500,
  'x-trim': true,
  description: 'Plain text under the title, at most 500 characters',
});
const serviceIds = Type.Array(Id('Of a service'), { minItems: 1, maxItems: 100, description: 'The services it shows, in this order' });
const groups = Type.Array(named('StatusPageGroupInput', input(group)), {
  maxItems: 50,
  description: 'Headings over services of serviceIds, each service in one group at most; empty: none',
});
const accentColour = Type.String({
  maxLength: 7,
  pattern: '^#[0-9a-fA-F]{6}$',
  description:
    '`#rrggbb` in hex digits, such as #0a6cff; used as it is where no text depends on it, and made darker or lighter where it carries text',
});
const logo = Type.String({
  maxLength: 65_600,
  pattern: '^data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$',
  description: 'A data: URL of a PNG, JPEG, WebP or GIF image, at most 64 KiB of base64',
});
const timezone = Type.String({ minLength: 1, maxLength: 64, description: 'An IANA name, such as Europe/Paris; times are shown in it' });

export const statusPages = area(
  {
    name: 'status',
    label: 'Status pages',
    description: 'Public pages that show services and the updates published about their incidents',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    listStatusPages: op({
      method: 'GET',
      path: '/status-pages',
      summary: 'List status pages',
      permission: 'oncall.page.read',
      responses: { 200: Type.Object({ pages: Type.Array(StatusPage) }) },
      extension: true,
    }),
    createStatusPage: op({
      method: 'POST',
      path: '/status-pages',
      summary: 'Create a status page',
      description:
        'Public at once, at /status/{slug}. It shows only incidents with a published update, and of those only title, service, times, state and updates.',
      permission: 'oncall.page.write',
      body: input({
        slug: Type.String({
          minLength: 3,
          maxLength: 40,
          pattern: '^[a-z0-9]([a-z0-9-]{1,38}[a-z0-9])$',
          description: '3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends; globally unique and immutable',
        }),
        title,
        description: Type.Optional(description),
        serviceIds,
        groups: Type.Optional(groups),
        accentColour: Type.Optional(accentColour),
        logo: Type.Optional(logo),
        timezone: Type.Optional(timezone),
      }),
      responses: { 201: StatusPage },
      errors: {
        404: 'unknown service, or not of this organization; the sentence names it',
        409: 'the slug is taken or reserved, or the organization has 100 pages',
      },
      extension: true,
    }),
    getStatusPage: op({
      method: 'GET',
      path: '/status-pages/{slug}',
      summary: 'One status page',
      permission: 'oncall.page.read',
      responses: { 200: StatusPage },
      extension: true,
    }),
    updateStatusPage: op({
      method: 'PATCH',
      path: '/status-pages/{slug}',
      summary: 'Change a status page',
      description: 'Lists are replaced whole. null takes the description, the accent colour or the logo away.',
      permission: 'oncall.page.write',
      body: input({
        title: Type.Optional(title),
        description: Type.Optional(nullable(description, 'Plain text under the title, at most 500 characters; null takes it away')),
        serviceIds: Type.Optional(serviceIds),
        groups: Type.Optional(groups),
        accentColour: Type.Optional(nullable(accentColour, '`#rrggbb` in hex digits, such as #0a6cff; null takes it away')),
        logo: Type.Optional(nullable(logo, 'A data: URL of a PNG, JPEG, WebP or GIF image, at most 64 KiB of base64; null takes it away')),
        timezone: Type.Optional(timezone),
      }),
      responses: { 200: StatusPage },
      errors: { 404: 'unknown page or service, or not of this organization; the sentence names which' },
      extension: true,
    }),
    deleteStatusPage: op({
      method: 'DELETE',
      path: '/status-pages/{slug}',
      summary: 'Delete a status page',
      description: 'With its subscribers. The address answers 404 from then on.',
      permission: 'oncall.page.write',
      responses: { 204: null },
      extension: true,
    }),
    listStatusPageSubscribers: op({
      method: 'GET',
      path: '/status-pages/{slug}/subscribers',
      summary: 'Who gets a page’s updates by mail',
      description: 'Newest first, those who have not confirmed yet included.',
      permission: 'oncall.page.read',
      query: input(page),
      responses: { 200: Type.Object({ subscribers: Type.Array(StatusPageSubscriber), cursor: nextCursor }) },
      extension: true,
    }),
    removeStatusPageSubscriber: op({
      method: 'DELETE',
      path: '/status-pages/{slug}/subscribers/{id}',
      summary: 'Take a subscriber off the list',
      description: 'No further mail goes to the address. Its owner may subscribe again.',
      permission: 'oncall.page.write',
      responses: { 204: null },
      extension: true,
    }),
  },
);
