import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { uptime } from '../../../../../contract/uptime.ts';
import { asOpenMetrics, contentTypes, formatFor, takesGzip } from '../../rules/export-text.ts';

/** The format and the encoding that a scraper asked for are a matter of HTTP: the operation only says what there is to tell. */
export function negotiateExport(server: FastifyInstance) {
  server.addHook('onSend', (request, reply, payload, done) => {
    const scrape = request.routeOptions.config.spec?.id === uptime.scrapeUptimeMetrics.id;
    if (!scrape || reply.statusCode !== 200 || !(payload instanceof Readable)) {
      done(null, payload);
      return;
    }
    const format = formatFor(request.headers.accept);
    reply.header('content-type', contentTypes[format]).header('vary', 'accept, accept-encoding');
    const written = format === 'openmetrics' ? openMetricsOf(payload) : payload;
    const encoding = request.headers['accept-encoding'];
    if (!takesGzip(Array.isArray(encoding) ? encoding.join() : encoding)) {
      done(null, written);
      return;
    }
    reply.header('content-encoding', 'gzip');
    // Packed beside the loop. Fastify hears of whatever goes wrong from the last stream, and this ends the others with it.
    done(
      null,
      pipeline(written, createGzip({ level: constants.Z_BEST_SPEED }), () => {}),
    );
  });
}

/** A scraper that left before the first piece ends this one while its generator has not begun, so the one below is ended by hand. */
function openMetricsOf(payload: Readable): Readable {
  const written = Readable.from(asOpenMetrics(payload), { highWaterMark: 1 });
  return written.once('close', () => payload.destroy());
}
