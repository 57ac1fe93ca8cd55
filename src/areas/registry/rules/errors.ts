/** The error codes of the OCI distribution specification, and TOOMANYREQUESTS and UNAVAILABLE, which clients know as well. */
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

/** What a registry refuses, in the specification's words. Which HTTP status that is, planes/oci/errors.ts says. */
export class RegistryError extends Error {
  readonly code: ErrorCode;
  readonly detail: unknown;
  /** After so many seconds it may work. */
  readonly retrySeconds: number | undefined;

  constructor(code: ErrorCode, sentence: string, options: { detail?: unknown; retrySeconds?: number; cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'RegistryError';
    this.code = code;
    this.detail = options.detail;
    this.retrySeconds = options.retrySeconds;
  }
}

/** An upstream cannot help now: it is unreachable, fails or asks us to wait. It may later. */
export class UpstreamAway extends Error {
  /** It limits how often it is asked. */
  readonly limited: boolean;
  readonly retrySeconds: number;
  /** The upstream answers, and only what was asked for is bad: everything else may be asked for. */
  readonly isAlone: boolean;

  constructor(sentence: string, options: { limited?: boolean; retrySeconds?: number; isAlone?: boolean; cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'UpstreamAway';
    this.limited = options.limited ?? false;
    this.isAlone = options.isAlone ?? false;
    this.retrySeconds = Math.min(3600, Math.max(1, options.retrySeconds ?? 10));
  }
}
