import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodySize } from '../../../contract/body-size.ts';
import type { App } from '../../kernel/app.ts';
import { Refusal } from '../../kernel/errors.ts';
import type { ByteReservation, Holders } from '../../kernel/fairness/index.ts';
import { holdUntilAnswered, readBody } from '../../kernel/http/body.ts';
import { hasBody } from '../../kernel/http/discard.ts';
import { readUnlessLarge } from './large-body.ts';

const totalMs = 30_000;
/** For forms in the browser, and for callbacks of providers. */
const formSize = { bytes: 16_384, values: 100 };
/** RFC 9110, 8.3.1: a type and a subtype, and perhaps parameters. */
const mediaType = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/** Reads bodies of every type, within limits. */
export function readBodies(server: FastifyInstance, app: App) {
  server.decorateRequest('held', undefined);
  server.addHook('preParsing', (request, reply, payload, done) => {
    // Fastify refuses a malformed Content-Type even without a body. Removing it limits the refusal to requests with a body.
    const type = request.headers['content-type'];
    if (type !== undefined && !mediaType.test(type)) delete request.headers['content-type'];
    if (hasBody(request.raw)) request.held = holdUntilAnswered(app.bodies, holdersOf(app, request), reply.raw);
    done(null, payload);
  });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request, payload, done) => {
    parseBody(app, request, payload as never).then((body) => done(null, body), done);
  });
}

async function parseBody(app: App, request: FastifyRequest, payload: Parameters<typeof readBody>[0]): Promise<unknown> {
  const { spec, bodySize = formSize } = request.routeOptions.config;
  const bytes = await readBody(payload, { maxBytes: bodySize.bytes, totalMs, held: request.held! });
  const type = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const form = () => Object.fromEntries(new URLSearchParams(bytes.toString()));
  if (bytes.length === 0) return undefined;
  if (!spec) return type === 'application/x-www-form-urlencoded' ? form() : undefined; // a person's form, or a provider's callback
  if (!spec.body) return refuseUnlessEmpty(bytes);
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw new Refusal(415, 'unsupported_media_type', 'the body must not be compressed: send it without Content-Encoding');
  if (spec.form && type === 'application/x-www-form-urlencoded') return form();
  if (type !== 'application/json' && !type.endsWith('+json'))
    throw new Refusal(415, 'unsupported_media_type', 'the body must be JSON: send Content-Type: application/json');
  // The caller's organization is charged for parsing, too.
  if (request.principal) app.watch.resume({ org: request.principal.org.id, operation: spec.id });
  return readUnlessLarge(bytes, bodySize);
}

/** Many clients send `{}` with every POST; it is treated as no body. */
function refuseUnlessEmpty(bytes: Buffer): undefined {
  if (!/^\s*\{\s*\}\s*$/.test(bytes.toString('latin1')))
    throw new Refusal(400, 'invalid', 'this operation takes no body; send it without one, or with {}');
}

const holdersOf = (app: App, { principal, raw }: FastifyRequest): Holders =>
  principal ? { org: principal.org.id, credential: principal.id } : { address: app.peers.of(raw) };

declare module 'fastify' {
  interface FastifyRequest {
    /** The reservation of its body's bytes, while it is answered. */
    held: ByteReservation | undefined;
  }
  interface FastifyContextConfig {
    /** What the operation reads at most. */
    bodySize?: BodySize;
  }
}
