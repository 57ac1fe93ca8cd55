import { constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { uptime } from '../../../../contract/uptime.ts';
import { takesGzip } from '../rules/export-text.ts';

/**
 * The summary of 1,000 monitors is 350 kB of text, asked for by phones as well: a quarter of it with gzip. It holds no secret, so its length
 * tells nothing.
 */
export function compressSummary(server: FastifyInstance) {
  server.addHook('onSend', (request, reply, payload, done) => {
    const isSummary = request.routeOptions.config.spec?.id === uptime.getUptimeSummary.id;
    if (!isSummary || request.method !== 'GET' || reply.statusCode !== 200 || typeof payload !== 'string') {
      done(null, payload);
      return;
    }
    reply.header('vary', 'accept-encoding');
    const encoding = request.headers['accept-encoding'];
    if (!takesGzip(Array.isArray(encoding) ? encoding.join() : encoding)) {
      done(null, payload);
      return;
    }
    reply.header('content-encoding', 'gzip');
    gzip(payload, { level: constants.Z_BEST_SPEED }, done);
  });
}
