/** The error codes of the OCI distribution specification, and TOOMANYREQUESTS and UNAVAILABLE, which clients also know. */
export type ErrorCode =
  | 'BLOB_UNKNOWN'
  | 'BLOB_UPLOAD_INVALID'
  | 'BLOB_UPLOAD_UNKNOWN'
  | 'DIGEST_INVALID'
  | 'MANIFEST_BLOB_UNKNOWN'
  | 'MANIFEST_INVALID'
  | 'MANIFEST_UNKNOWN'
  | 'NAME_INVALID'
  | 'NAME_UNKNOWN'
  | 'SIZE_INVALID'
  | 'TAG_INVALID'
  | 'UNAUTHORIZED'
  | 'DENIED'
  | 'UNSUPPORTED'
  | 'TOOMANYREQUESTS'
  | 'UNAVAILABLE';

/** A refusal with a code of the specification. planes/oci/errors.ts maps it to an HTTP status. */
export class RegistryError extends Error {
  readonly code: ErrorCode;
  readonly detail: unknown;
  /** A retry may succeed after this many seconds. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, sentence: string, options: { detail?: unknown; retryAfterSeconds?: number; cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'RegistryError';
    this.code = code;
    this.detail = options.detail;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** An upstream is unreachable, fails, or asks us to wait. A retry may succeed. */
export class UpstreamUnavailable extends Error {
  /** The upstream rate-limits us. */
  readonly isRateLimited: boolean;
  readonly retryAfterSeconds: number;
  /** Only the requested item is bad; the upstream can be asked for other items. */
  readonly affectsOneItem: boolean;

  constructor(
    sentence: string,
    options: { isRateLimited?: boolean; retryAfterSeconds?: number; affectsOneItem?: boolean; cause?: unknown } = {},
  ) {
    super(sentence, { cause: options.cause });
    this.name = 'UpstreamUnavailable';
    this.isRateLimited = options.isRateLimited ?? false;
    this.affectsOneItem = options.affectsOneItem ?? false;
    this.retryAfterSeconds = Math.min(3600, Math.max(1, options.retryAfterSeconds ?? 10));
  }
}
