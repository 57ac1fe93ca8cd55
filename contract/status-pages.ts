import Type from 'typebox';
import { area, DateTime, Id, input, named, op } from './shared.ts';

const StatusPage = named(
  'StatusPage',
  Type.Object({
    slug: Type.String(),
    title: Type.String(),
    serviceIds: Type.Array(Type.String()),
    url: Type.String({ description: 'Where the public reads it' }),
    createdAt: DateTime,
  }),
);

const title = Type.String({ minLength: 1, maxLength: 200, 'x-trim': true, description: 'Trimmed; 1 to 200 characters' });
const serviceIds = Type.Array(Id('Of a service'), { minItems: 1, maxItems: 100, description: 'The services it shows, in this order' });

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
          description: 'Globally unique and immutable',
        }),
        title,
        serviceIds,
      }),
      responses: { 201: StatusPage },
      errors: { 404: 'unknown service, or not of this organization; the sentence names it', 409: 'the slug is taken or reserved' },
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
      permission: 'oncall.page.write',
      body: input({ title: Type.Optional(title), serviceIds: Type.Optional(serviceIds) }),
      responses: { 200: StatusPage },
      errors: { 404: 'unknown page or service, or not of this organization; the sentence names which' },
      extension: true,
    }),
    deleteStatusPage: op({
      method: 'DELETE',
      path: '/status-pages/{slug}',
      summary: 'Delete a status page',
      permission: 'oncall.page.write',
      responses: { 204: null },
      extension: true,
    }),
  },
);
