import type { IncomingMessage, ServerResponse } from 'node:http';
import { DatabaseAway } from '../../../../kernel/db.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { requestIdHeader } from '../../../../kernel/http/request-id.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { DigestMismatch, OffsetMismatch, RangeUnsatisfiable, UploadBusy, UploadUnknown } from '../../../../kernel/storage/index.ts';
import { ImmutableTag } from '../../engine/deletion.ts';
import { OverQuota } from '../../engine/quota.ts';
import { type ErrorCode, RegistryError, UpstreamAway } from '../../rules/errors.ts';
import { ManifestInvalid } from '../../rules/manifest.ts';

const statuses: Record<ErrorCode, number> = {
  BLOB_UNKNOWN: 404,
  BLOB_UPLOAD_INVALID: 400,
  BLOB_UPLOAD_UNKNOWN: 404,
  DIGEST_INVALID: 400,
  MANIFEST_BLOB_UNKNOWN: 404,
  MANIFEST_INVALID: 400,
  MANIFEST_UNKNOWN: 404,
  NAME_INVALID: 400,
  NAME_UNKNOWN: 404,
  SIZE_INVALID: 400,
  TAG_INVALID: 400,
  UNAUTHORIZED: 401,
  DENIED: 403,
  UNSUPPORTED: 405,
  TOOMANYREQUESTS: 429,
  UNAVAILABLE: 503,
};

/** A refusal in the words that registry clients understand. */
export class OciError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: unknown;
  readonly headers: Record<string, string>;
  /** Whoever noticed it has told the operator already. */
  readonly logged: boolean;

  constructor(
    code: ErrorCode,
    sentence: string,
    options: { status?: number; detail?: unknown; headers?: Record<string, string>; cause?: unknown; logged?: boolean } = {},
  ) {
    super(sentence, { cause: options.cause });
    this.name = 'OciError';
    this.code = code;
    this.status = options.status ?? statuses[code];
    this.detail = options.detail;
    this.headers = options.headers ?? {};
    this.logged = options.logged ?? false;
  }
}

const codes: Record<number, ErrorCode> = { 401: 'UNAUTHORIZED', 403: 'DENIED', 413: 'SIZE_INVALID', 429: 'TOOMANYREQUESTS' };
const retryAfter = (seconds: number) => ({ 'Retry-After': String(Math.ceil(seconds)) });
const soon = retryAfter(2);

/** What went wrong, in the protocol's words. Undefined: nobody foresaw it. */
export function asOciError(error: unknown): OciError | undefined {
  if (error instanceof OciError) return error;
  if (error instanceof RegistryError)
    return new OciError(error.code, error.message, {
      detail: error.detail,
      cause: error,
      ...(error.retrySeconds === undefined ? {} : { headers: retryAfter(error.retrySeconds) }),
    });
  // 429 stays 429, so that clients wait.
  if (error instanceof UpstreamAway)
    return new OciError(error.limited ? 'TOOMANYREQUESTS' : 'UNAVAILABLE', error.message, {
      status: error.limited ? 429 : 502,
      headers: retryAfter(error.retrySeconds),
      cause: error,
      logged: true,
    });
  if (error instanceof ImmutableTag) return new OciError('DENIED', error.message);
  if (error instanceof OverQuota) return new OciError('DENIED', error.message, { detail: error.detail });
  if (error instanceof ManifestInvalid) return new OciError('MANIFEST_INVALID', error.message);
  if (error instanceof DigestMismatch) return new OciError('DIGEST_INVALID', error.message);
  if (error instanceof UploadUnknown) return new OciError('BLOB_UPLOAD_UNKNOWN', error.message);
  if (error instanceof UploadBusy) return new OciError('BLOB_UPLOAD_INVALID', error.message, { status: 409 });
  if (error instanceof OffsetMismatch || error instanceof RangeUnsatisfiable)
    return new OciError('BLOB_UPLOAD_INVALID', error.message, { status: 416 });
  if ((error as { code?: unknown } | undefined)?.code === '23503')
    return new OciError('UNAVAILABLE', 'the repository is being deleted; try again', { headers: soon });
  if (error instanceof DatabaseAway) return new OciError('UNAVAILABLE', 'the database is away; try again in a moment', { headers: soon });
  if (error instanceof Refusal)
    return new OciError(codes[error.status] ?? (error.status >= 500 ? 'UNAVAILABLE' : 'UNSUPPORTED'), error.message, {
      status: error.status,
      headers: { ...(error.status >= 500 ? soon : {}), ...error.headers },
    });
  return undefined;
}

/** A sender that has been refused is heard out a little, so that it reads the answer instead of a reset; then the line is cut. */
const patience = { bytes: 1024 * 1024, ms: 5_000 };

export function sendError(request: IncomingMessage, response: ServerResponse, thrown: unknown, log: Logger) {
  const error = asOciError(thrown) ?? new OciError('UNAVAILABLE', 'something went wrong on our side; try again', { cause: thrown });
  if (error.status >= 500 && !error.logged)
    log.error(
      { err: thrown, requestId: request.requestId, method: request.method, url: request.url?.split('?')[0] },
      'registry request failed',
    );
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = JSON.stringify({
    errors: [{ code: error.code, message: error.message, ...(error.detail === undefined ? {} : { detail: error.detail }) }],
  });
  response.statusCode = error.status;
  for (const [name, value] of Object.entries({ ...requestIdHeader(request), ...error.headers })) response.setHeader(name, value);
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  if (!request.complete) hearOut(request, response);
  response.end(request.method === 'HEAD' ? undefined : body);
}

function hearOut(request: IncomingMessage, response: ServerResponse) {
  response.setHeader('Connection', 'close');
  let left = patience.bytes;
  const cut = setTimeout(() => request.destroy(), patience.ms);
  cut.unref();
  request.once('close', () => clearTimeout(cut));
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
}
