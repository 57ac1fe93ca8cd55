import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../../kernel/errors.ts';
import { readBody } from '../../kernel/http/body.ts';

const bodyLimits = { maxBytes: 1_048_576, totalMs: 30_000 };
/** RFC 9110, 8.3.1: a type and a subtype, and perhaps parameters. */
const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/** Bodies are read here, within bounds, whatever their type. */
export function readBodies(server: FastifyInstance) {
  // Fastify refuses a Content-Type that it cannot read, even where no body comes with it. Taken as none, it is refused only with a body.
  server.addHook('onRequest', (request, _reply, done) => {
    const type = request.headers['content-type'];
    if (type !== undefined && !mediaType.test(type)) delete request.headers['content-type'];
    done();
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request, payload, done) => {
    parseBody(request, payload as never).then((body) => done(null, body), done);
  });
}

async function parseBody(request: FastifyRequest, payload: Parameters<typeof readBody>[0]): Promise<unknown> {
  const spec = request.routeOptions.config.spec;
  const bytes = await readBody(payload, { ...bodyLimits, maxBytes: spec?.bodyLimit ?? bodyLimits.maxBytes });
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const form = () => Object.fromEntries(new URLSearchParams(bytes.toString()));
  if (bytes.length === 0) return undefined;
  if (!spec) return type === 'application/x-www-form-urlencoded' ? form() : undefined; // a page, or a provider's callback
  if (!spec.body) throw new Refusal(400, 'invalid', 'this operation takes no body; send it without one');
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new Refusal(415, 'unsupported_media_type', 'the body must not be compressed: send it without Content-Encoding');
  if (spec.form && type === 'application/x-www-form-urlencoded') return form();
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new Refusal(415, 'unsupported_media_type', 'the body must be JSON: send Content-Type: application/json');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'invalid', 'the body is not valid JSON');
  }
}
