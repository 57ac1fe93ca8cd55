// How a request to an authority fails. Sentences are for the operator and for members; text of the authority in them is cut and stripped.

const maxDetail = 300;

/** The authority does not answer, or says that it cannot now. It may later, and the name is not at fault. */
export class AuthorityAway extends Error {
  readonly retryAfterSeconds: number;

  constructor(sentence: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'AuthorityAway';
    this.retryAfterSeconds = options.retryAfterSeconds ?? 0;
  }
}

/** The authority answers with something that no authority would: it is not believed. */
export class AuthorityLies extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'AuthorityLies';
  }
}

export interface Problem {
  /** Without its prefix: `badNonce`, `rateLimited`. */
  type: string;
  detail: string;
}

/** The authority refuses: RFC 8555, 6.7. */
export class AuthorityRefuses extends Error {
  readonly type: string;
  readonly status: number;
  readonly retryAfterSeconds: number;

  constructor({ type, detail }: Problem, status: number, retryAfterSeconds = 0) {
    super(`the authority refuses: ${detail || type}`);
    this.name = 'AuthorityRefuses';
    this.type = type;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const prefix = 'urn:ietf:params:acme:error:';

/** Of an answer, an order or a challenge; with the first subproblem, which names the cause. */
export function readProblem(found: unknown): Problem {
  const { type, detail, subproblems } = asObject(found);
  const first = Array.isArray(subproblems) ? asObject(subproblems[0]).detail : undefined;
  const told = [detail, first].filter((text) => typeof text === 'string').map(String);
  return { type: typeof type === 'string' ? shorten(type.replace(prefix, '')) : 'unknown', detail: shorten([...new Set(told)].join(': ')) };
}

const shorten = (text: string): string => {
  const clean = text
    .slice(0, 4 * maxDetail)
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return clean.length > maxDetail ? `${clean.slice(0, maxDetail)}…` : clean.toWellFormed();
};

const asObject = (found: unknown): Record<string, unknown> =>
  typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
