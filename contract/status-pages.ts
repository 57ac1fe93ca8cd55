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

const StatusPageDomainRecord = named(
  'StatusPageDomainRecord',
  Type.Object({
    type: oneOf(['CNAME', 'TXT']),
    name: Type.String(),
    value: Type.String({ description: 'What to publish there' }),
    outcome: Type.Optional(
      oneOf(['found', 'missing', 'mismatch', 'error'], { description: 'What the DNS said last; absent before the first look' }),
    ),
    observed: Type.Optional(Type.String({ description: 'What stands there instead, at a mismatch' })),
    sentence: Type.String({ description: 'What is wrong, and what to publish' }),
  }),
);

const StatusPageDomain = named(
  'StatusPageDomain',
  Type.Object({
    state: oneOf(['pending', 'verified', 'failed'], {
      description:
        'pending for three days while the records are looked for; verified: the page is read there; failed: not found, or lost to another organization that proved the name',
    }),
    records: Type.Array(StatusPageDomainRecord, {
      description: 'What to publish in the domain’s DNS: an alias, and a proof if another organization has or had the name',
    }),
    certificate: Type.Object(
      {
        state: oneOf(['none', 'ordered', 'valid', 'failed'], { description: 'valid also while it is renewed' }),
        validUntil: Type.Optional(DateTime),
        sentence: Type.Optional(Type.String({ description: 'Why there is none, or what went wrong last and when it is tried again' })),
      },
      { description: 'Ordered once the domain is verified' },
    ),
    checkedAt: Type.Optional(DateTime),
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
    url: Type.String({ description: 'Where the public reads it; its own domain once that has a certificate' }),
    customDomain: Type.Optional(Type.String({ description: 'Present when it has a domain of its own' })),
    customDomainStatus: Type.Optional(StatusPageDomain),
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
const customDomain = Type.String({
  minLength: 4,
  maxLength: 253,
  pattern: '^[A-Za-z0-9.-]+$',
  description:
    'A domain of yours, such as status.example.com, in its ASCII form; readers find the page at its root once the DNS leads it here',
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
        customDomain: Type.Optional(customDomain),
      }),
      responses: { 201: StatusPage },
      errors: {
        404: 'unknown service, or not of this organization; the sentence names it',
        409: 'the slug is taken or reserved, the organization has 100 pages, another page of it has the domain, or this server has no public name',
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
      description: 'Lists are replaced whole. null takes the description, the accent colour, the logo or the domain away.',
      permission: 'oncall.page.write',
      body: input({
        title: Type.Optional(title),
        description: Type.Optional(nullable(description, 'Plain text under the title, at most 500 characters; null takes it away')),
        serviceIds: Type.Optional(serviceIds),
        groups: Type.Optional(groups),
        accentColour: Type.Optional(nullable(accentColour, '`#rrggbb` in hex digits, such as #0a6cff; null takes it away')),
        logo: Type.Optional(nullable(logo, 'A data: URL of a PNG, JPEG, WebP or GIF image, at most 64 KiB of base64; null takes it away')),
        timezone: Type.Optional(timezone),
        customDomain: Type.Optional(
          nullable(customDomain, 'A domain of yours, such as status.example.com; null takes it and its certificate away'),
        ),
      }),
      responses: { 200: StatusPage },
      errors: {
        404: 'unknown page or service, or not of this organization; the sentence names which',
        409: 'another page of the organization has the domain, or this server has no public name',
      },
      extension: true,
    }),
    deleteStatusPage: op({
      method: 'DELETE',
      path: '/status-pages/{slug}',
      summary: 'Delete a status page',
      description: 'With its subscribers. The address answers 404 from then on.',
      permission: 'oncall.page.write',
      fresh: true,
      responses: { 204: null },
      extension: true,
    }),
    checkStatusPageDomain: op({
      method: 'POST',
      path: '/status-pages/{slug}/check-domain',
      summary: 'Look up a page’s domain soon',
      description: 'At most once in ten seconds. A failed domain has three days again.',
      permission: 'oncall.page.write',
      responses: { 202: Type.Object({ status: Type.String({ description: '`scheduled`' }) }) },
      errors: { 409: 'the page has no domain of its own' },
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
