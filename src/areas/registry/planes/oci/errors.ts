import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../../../kernel/errors.ts';
import { endAfterBody } from '../../../../kernel/http/body.ts';
import { hasBody } from '../../../../kernel/http/discard.ts';
import { refusalFor } from '../../../../kernel/http/plane.ts';
import { isTemporary, refuseTemporarily } from '../../../../kernel/http/temporary-failure.ts';
import { DigestMismatch, OffsetMismatch, RangeUnsatisfiable, UploadBusy, UploadUnknown } from '../../../../kernel/storage/index.ts';
import { ImmutableTag } from '../../engine/deletion.ts';
import { OverQuota } from '../../engine/quota.ts';
import { type ErrorCode, RegistryError, UpstreamUnavailable } from '../../rules/errors.ts';
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

/** The header by which clients recognize a registry. */
export const apiVersion = ['Docker-Distribution-Api-Version', 'registry/2.0'] as const;
export const setApiVersion = (response: ServerResponse) => response.setHeader(...apiVersion);

/** An error with a code of the OCI specification. */
export class OciError extends Refusal {
  declare readonly code: ErrorCode;
  readonly detail: unknown;

  constructor(
    code: ErrorCode,
    sentence: string,
    options: { status?: number; detail?: unknown; headers?: Record<string, string>; cause?: unknown; isTold?: boolean } = {},
  ) {
    super(options.status ?? statuses[code], code, sentence, options);
    this.name = 'OciError';
    this.detail = options.detail;
  }
}

const codes: Record<number, ErrorCode> = { 401: 'UNAUTHORIZED', 403: 'DENIED', 413: 'SIZE_INVALID', 429: 'TOOMANYREQUESTS' };
const retryAfter = (seconds: number) => ({ 'Retry-After': String(Math.ceil(seconds)) });
const soon = retryAfter(2);

/** Maps an error to the protocol. Undefined: an unexpected error. */
export function asOciError(error: unknown): OciError | undefined {
  if (error instanceof OciError) return error;
  if (error instanceof RegistryError)
    return new OciError(error.code, error.message, {
      detail: error.detail,
      cause: error,
      ...(error.retryAfterSeconds === undefined ? {} : { headers: retryAfter(error.retryAfterSeconds) }),
    });
  // 429 stays 429, so that clients wait.
  if (error instanceof UpstreamUnavailable)
    return new OciError(error.isRateLimited ? 'TOOMANYREQUESTS' : 'UNAVAILABLE', error.message, {
      status: error.isRateLimited ? 429 : 502,
      headers: retryAfter(error.retryAfterSeconds),
      cause: error,
      isTold: true,
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
    return new OciError('UNAVAILABLE', 'the repository is being deleted; try again', { headers: soon, cause: error });
  if (isTemporary(error)) return new OciError('UNAVAILABLE', refuseTemporarily(error).message, { headers: soon, cause: error });
  if (error instanceof Refusal)
    return new OciError(codes[error.status] ?? (error.status >= 500 ? 'UNAVAILABLE' : 'UNSUPPORTED'), error.message, {
      status: error.status,
      headers: { ...(error.status >= 500 ? soon : {}), ...error.headers },
      cause: error,
    });
  return undefined;
}

/** Sends an error as the distribution specification defines it. */
export function sendError(request: IncomingMessage, response: ServerResponse, thrown: unknown) {
  const error = asOciError(thrown) ?? new OciError('UNAVAILABLE', refusalFor(thrown, request).message, { cause: thrown });
  const body = JSON.stringify({
    errors: [{ code: error.code, message: error.message, ...(error.detail === undefined ? {} : { detail: error.detail }) }],
  });
  response.statusCode = error.status;
  setApiVersion(response);
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  // The rest of the body is not read, so the client is told that the connection closes.
  if (!request.complete && hasBody(request)) response.setHeader('Connection', 'close');
  if (request.method === 'HEAD') response.end();
  else endAfterBody(request, response, body);
}
