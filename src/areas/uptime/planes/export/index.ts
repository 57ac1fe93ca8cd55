import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { uptime } from '../../../../../contract/uptime.ts';
import { asOpenMetrics, contentTypes, formatFor, takesGzip } from '../../rules/export-text.ts';

/** Format and encoding are negotiated here, at the HTTP layer: the operation only produces the text. */
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
    // Compressed off the event loop. Fastify sees errors of the last stream, and `pipeline` ends the others with it.
    done(
      null,
      pipeline(written, createGzip({ level: constants.Z_BEST_SPEED }), () => {}),
    );
  });
}

/**
 * A scraper that disconnects before the first piece closes this stream before its generator has started, so the payload is destroyed by
 * hand.
 */
function openMetricsOf(payload: Readable): Readable {
  const written = Readable.from(asOpenMetrics(payload), { highWaterMark: 1 });
  return written.once('close', () => payload.destroy());
}
