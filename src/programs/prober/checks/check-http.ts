import { GrowingBuffer } from '../../../kernel/buffers/growing-buffer.ts';
import { type FetchOptions, type Guard, GuardFailure, type GuardResponse } from '../../../kernel/guard/index.ts';
import type { HttpTarget } from '../../../protocols/agent.ts';
import { expiryOf } from './certificate.ts';
import { isExpectedStatus, searchedBytes, snippetOf } from './expectations.ts';
import { errorOf, fail, type Observation, PhaseSums, round } from './observation.ts';

/** Only `totalMs` bounds a check: the other limits would only say the same thing twice. */
const unbounded = { connectMs: Number.POSITIVE_INFINITY, headersMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY };
const maxHeaderBytes = 65_536;
const maxRedirects = 5;

export interface HttpCheck {
  readonly target: HttpTarget;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly tls?: FetchOptions['tls'];
}

/** One request on a connection of its own, and one for each redirect. Throws only errors that are not the target's fault. */
export async function checkHttp(guard: Guard, { target, timeoutMs, userAgent, tls }: HttpCheck): Promise<Observation> {
  const started = performance.now();
  const phases = new PhaseSums();
  const seen: Pick<Observation, 'tlsVersion' | 'certificateUntil'> = {};
  const observe = (rest: Omit<Observation, 'latencyMs' | 'phases'>): Observation => ({
    ...rest,
    ...seen,
    latencyMs: round(performance.now() - started),
    phases: phases.rounded(),
  });
  let response: GuardResponse | undefined;
  const beginning = new GrowingBuffer(searchedBytes);
  try {
    response = await guard.fetch('uptime', target.url, {
      method: target.method,
      headers: { 'user-agent': userAgent },
      originHeaders: target.headers,
      ...(target.bodyBase64 === undefined ? {} : { body: Buffer.from(target.bodyBase64, 'base64') }),
      timeouts: { ...unbounded, totalMs: timeoutMs },
      maxRedirects: target.followRedirects ? maxRedirects : 0,
      // As every browser does; what belongs to the first origin is not sent to the second.
      allowDowngrade: true,
      maxHeaderBytes,
      maxBodyBytes: searchedBytes,
      ...(tls === undefined ? {} : { tls }),
      onPhase: phases.add,
      onSecure: (socket, _hop, certificate) => {
        seen.tlsVersion = socket.getProtocol() ?? undefined;
        seen.certificateUntil = expiryOf(certificate);
      },
    });
    await readBody(response, target.expectBodyContains === undefined ? 1024 : searchedBytes, beginning);
    const body = beginning.bytes();
    const answer = answerOf(response);
    const verdict = judge(target, response.status, body);
    return observe(verdict === null ? { outcome: 'pass', ...answer } : { ...verdict, ...answer, snippet: snippetOf(body) });
  } catch (error) {
    const verdict = errorOf(error);
    if (verdict === null) throw error;
    return observe({
      ...verdict,
      ...(response === undefined ? {} : answerOf(response)),
      snippet: snippetOf(beginning.bytes()),
    });
  }
}

function judge({ expectStatus, expectBodyContains }: HttpTarget, status: number, body: Buffer) {
  if (!isExpectedStatus(status, expectStatus)) return fail('status_mismatch', `answered ${status}; expected ${expectStatus.join(', ')}`);
  if (expectBodyContains === undefined || body.includes(expectBodyContains)) return null;
  return fail('body_mismatch', `the expected text is not in the first ${searchedBytes / 1024} KiB of the answer`);
}

function answerOf({ status, httpVersion, headers, hops }: GuardResponse): Omit<Observation, 'outcome'> {
  const length = Number(headers['content-length'] ?? -1);
  return {
    status,
    httpVersion,
    redirects: hops.length - 1,
    family: hops.at(-1)!.family,
    contentLength: Number.isSafeInteger(length) && length >= 0 ? length : -1,
  };
}

/**
 * Reads the body to its end, since a truncated body is an outage too, or to the limit: a longer body is no fault. The first `kept` bytes
 * are in `beginning` also when the read fails, as a clue to the failure.
 */
async function readBody(response: GuardResponse, kept: number, beginning: GrowingBuffer): Promise<void> {
  try {
    for await (const chunk of response.body) beginning.add(chunk.subarray(0, kept - beginning.length));
  } catch (error) {
    if (!(error instanceof GuardFailure && error.kind === 'too_large')) throw error;
  }
}
