// Kubernetes' error responses: a `Status` with a machine-readable reason and a sentence for people.

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

export interface Status {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, unknown>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** An error that is sent as a `Status`. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** Metadata of a refused list, such as its continue token. */
  readonly metadata: Record<string, unknown>;

  constructor(code: number, reason: string, message: string, details?: StatusDetails, metadata: Record<string, unknown> = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.metadata = metadata;
  }
}

export const statusOf = ({ code, reason, message, details, metadata }: ApiError): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata,
  status: 'Failure',
  message,
  reason,
  ...(details ? { details } : {}),
  code,
});

export const success = (details: StatusDetails): Status => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Success',
  details,
  code: 200,
});

/** A resource as error messages name it. */
export interface GroupResource {
  group: string;
  plural: string;
}

/** `certificatesigningrequests.certificates.k8s.io`. */
export const qualified = ({ group, plural }: GroupResource): string => (group ? `${plural}.${group}` : plural);

const detailsOf = ({ group, plural }: GroupResource, name: string): StatusDetails => ({
  ...(name ? { name } : {}),
  ...(group ? { group } : {}),
  kind: plural,
});

export const badRequest = (message: string) => new ApiError(400, 'BadRequest', message);
export const unauthorized = () => new ApiError(401, 'Unauthorized', 'Unauthorized');

export const notFoundError = (of: GroupResource, name: string) =>
  new ApiError(404, 'NotFound', `${qualified(of)} "${name}" not found`, detailsOf(of, name));

export const noSuchPath = () => new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (of: GroupResource, name: string) =>
  new ApiError(409, 'AlreadyExists', `${qualified(of)} "${name}" already exists`, detailsOf(of, name));

export const conflictError = (of: GroupResource, name: string, why: string) =>
  new ApiError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`, detailsOf(of, name));

/** Clients recognize this sentence: they read the object again and retry. */
export const modifiedMessage = 'the object has been modified; please apply your changes to the latest version and try again';

export const forbiddenError = (of: GroupResource, name: string, why: string) =>
  new ApiError(403, 'Forbidden', `${qualified(of)} ${name ? `"${name}" ` : ''}is forbidden: ${why}`, detailsOf(of, name));

export interface Cause {
  /** Such as `FieldValueInvalid`. */
  reason: string;
  field: string;
  message: string;
}

export const invalidError = (kind: string, of: GroupResource, name: string, causes: Cause[]) =>
  new ApiError(
    422,
    'Invalid',
    `${kind}${of.group ? `.${of.group}` : ''} "${name}" is invalid: ${
      causes.length === 1 ? describeCause(causes[0]!) : `[${causes.map(describeCause).join(', ')}]`
    }`,
    { ...detailsOf(of, name), kind, causes },
  );

const describeCause = ({ field, message }: Cause) => `${field}: ${message}`;

export const invalidValue = (field: string, value: unknown, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  field,
  message: `Invalid value: ${JSON.stringify(value) ?? 'null'}: ${why}`.slice(0, 2_000),
});
export const requiredValue = (field: string, why = ''): Cause => ({
  reason: 'FieldValueRequired',
  field,
  message: `Required value${why ? `: ${why}` : ''}`,
});
export const forbiddenValue = (field: string, why: string): Cause => ({
  reason: 'FieldValueForbidden',
  field,
  message: `Forbidden: ${why}`,
});

export const notServed = (message: string) => new ApiError(405, 'MethodNotAllowed', message, {});
export const notAcceptable = (message: string) => new ApiError(406, 'NotAcceptable', message, {});
export const unsupportedType = (message: string) => new ApiError(415, 'UnsupportedMediaType', message, {});
export const tooLarge = (message: string) => new ApiError(413, 'RequestEntityTooLarge', message, {});
export const tooMany = (message: string) => new ApiError(429, 'TooManyRequests', message, { retryAfterSeconds: 1 });
export const expired = (message: string, metadata: Record<string, unknown> = {}) =>
  new ApiError(410, 'Expired', message, undefined, metadata);
/** For a version that does not exist yet, such as one from before a restore: the client must list again. */
export const tooLargeVersion = (asked: number, current: number) =>
  new ApiError(504, 'Timeout', `Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
export const unavailableError = (message: string) => new ApiError(503, 'ServiceUnavailable', message, { retryAfterSeconds: 2 });
export const internalError = () => new ApiError(500, 'InternalError', 'something went wrong on our side; try again', {});
