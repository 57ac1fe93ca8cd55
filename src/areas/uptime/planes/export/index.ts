import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { uptime } from '../../../../../contract/uptime.ts';
import { contentTypes, formatFor, openMetrics, takesGzip } from '../../rules/export-text.ts';

const pack = promisify(gzip);
/** Less than a packet or two is not worth the work. */
const smallest = 1_024;

/** The format and the encoding that a scraper asked for are a matter of HTTP: the operation only says what there is to tell. */
export function negotiateExport(server: FastifyInstance) {
  server.addHook('onSend', (request, reply, payload, done) => {
    const scrape = request.routeOptions.config.spec?.id === uptime.scrapeUptimeMetrics.id;
    if (!scrape || reply.statusCode !== 200 || typeof payload !== 'string') {
      done(null, payload);
      return;
    }
    const format = formatFor(request.headers.accept);
    reply.header('content-type', contentTypes[format]).header('vary', 'accept, accept-encoding');
    const written = format === 'openmetrics' ? openMetrics(payload) : payload;
    const encoding = request.headers['accept-encoding'];
    if (written.length < smallest || !takesGzip(Array.isArray(encoding) ? encoding.join() : encoding)) {
      done(null, written);
      return;
    }
    pack(written).then((packed) => {
      reply.header('content-encoding', 'gzip');
      done(null, packed);
    }, done);
  });
}
