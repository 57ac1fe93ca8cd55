import Type from 'typebox';
import { DateTime, input, Name, named, nullable, op } from '../common.ts';

const UptimeExportToken = named(
  'UptimeExportToken',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    createdAt: DateTime,
    lastUsedAt: nullable(DateTime, 'null until the token is first used'),
  }),
);

export const exportOps = {
  listExportTokens: op({
    method: 'GET',
    path: '/uptime/export-tokens',
    summary: 'List export tokens',
    permission: 'uptime.export.read',
    entitlement: 'uptime',
    responses: { 200: Type.Object({ tokens: Type.Array(UptimeExportToken) }) },
  }),
  createExportToken: op({
    method: 'POST',
    path: '/uptime/export-tokens',
    summary: 'Mint an export token',
    description: 'Lets a metrics scraper read all monitors of the organization until it is revoked. The token is returned only here.',
    permission: 'uptime.export.admin',
    fresh: true,
    entitlement: 'uptime',
    body: input({ name: Name }),
    responses: { 201: Type.Object({ id: Type.String(), name: Type.String(), token: Type.String(), createdAt: DateTime }) },
    errors: { 409: 'the organization has 100 export tokens' },
    secret: true,
  }),
  revokeExportToken: op({
    method: 'DELETE',
    path: '/uptime/export-tokens/{id}',
    summary: 'Revoke an export token for good',
    description: 'Immediate: scrapes under way get 401.',
    permission: 'uptime.export.admin',
    entitlement: 'uptime',
    responses: { 204: null },
  }),
  scrapeUptimeMetrics: op({
    method: 'GET',
    path: '/uptime/export/metrics',
    summary: 'All monitors, for a metrics scraper',
    description:
      'The metric names of blackbox_exporter, one series for each monitor and vantage. OpenMetrics 1.0 where the scraper accepts it.',
    permission: 'none',
    credential: 'scrape',
    entitlement: 'uptime',
    responses: { 200: Type.String() },
    produces: 'text/plain',
    extension: true,
  }),
};
