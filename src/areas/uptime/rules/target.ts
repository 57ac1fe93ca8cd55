import type { HttpTarget, TcpTarget } from '../../../protocols/agent.ts';

// What a monitor may check, as far as that can be judged without a network. Every complaint says what to do about it.

export interface HttpInput {
  url: string;
  method?: 'GET' | 'HEAD' | 'POST';
  headers?: Record<string, string>;
  bodyBase64?: string;
  followRedirects?: boolean;
  expectStatus?: string[];
  expectBodyContains?: string;
}

export interface TcpInput {
  host: string;
  port: number;
  tls?: boolean;
  sendBase64?: string;
  expectPrefixBase64?: string;
}

export interface Targets {
  http?: HttpInput;
  tcp?: TcpInput;
}

/** Undefined: nothing to complain about. */
type Complaint = string | undefined;

const maxHeaderBytes = 8_192;
const maxUrlCharacters = 2_048;

/** Exactly the object that the kind names. */
export function shapeComplaint(kind: 'http' | 'tcp', { http, tcp }: Targets): Complaint {
  const other = kind === 'http' ? 'tcp' : 'http';
  if ((kind === 'http' ? http : tcp) === undefined) return `${kind} is required: it says what to check with kind ${kind}`;
  if ((kind === 'http' ? tcp : http) !== undefined)
    return `${other} does not go with kind ${kind}; leave it out, or make a monitor of kind ${other}`;
  return undefined;
}

export const targetComplaint = ({ http, tcp }: Targets): Complaint => (http && httpComplaint(http)) ?? (tcp && tcpComplaint(tcp));

function httpComplaint(http: HttpInput): Complaint {
  const method = http.method ?? 'GET';
  if (http.bodyBase64 !== undefined && method !== 'POST')
    return `http.bodyBase64 goes with POST only; leave it out, or set http.method to POST`;
  if (http.expectBodyContains !== undefined && method === 'HEAD')
    return 'http.expectBodyContains does not go with HEAD, whose answers have no body; use GET';
  // With masks for its values a URL may be sent longer than it is.
  if (http.url.length > maxUrlCharacters) return `http.url must have at most ${maxUrlCharacters} characters`;
  return (
    headersComplaint(http.headers ?? {}) ??
    base64Complaint('http.bodyBase64', http.bodyBase64, 16_384) ??
    statusComplaint(http.expectStatus ?? [])
  );
}

const tcpComplaint = (tcp: TcpInput): Complaint =>
  base64Complaint('tcp.sendBase64', tcp.sendBase64, 4_096) ?? base64Complaint('tcp.expectPrefixBase64', tcp.expectPrefixBase64, 1_024);

function headersComplaint(headers: Record<string, string>): Complaint {
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (seen.has(lower)) return `http.headers has ${lower} twice; header names differ by more than their letters' case`;
    seen.add(lower);
    // RFC 9110 5.5. A line break would begin another header, or another request.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      return `http.headers.${name} has characters that no header value has; write visible characters of ISO 8859-1, without line breaks`;
    bytes += name.length + value.length + 4; // `: ` and the line's end
  }
  // The sentence does not tell the length: some values may be stored secrets that the caller does not know.
  return bytes > maxHeaderBytes ? `http.headers is too long; send at most ${maxHeaderBytes} bytes in all` : undefined;
}

/** Buffer.from reads anything: what it writes again must be what was given. */
function base64Complaint(field: string, text: string | undefined, maxBytes: number): Complaint {
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) return `${field} is not base64; encode the bytes with padding and without line breaks`;
  return bytes.length > maxBytes ? `${field} holds ${bytes.length} bytes; send at most ${maxBytes}` : undefined;
}

function statusComplaint(expected: string[]): Complaint {
  const wrong = expected.find((each) => {
    const [low, high] = each.split('-').map(Number);
    return high !== undefined && low! > high;
  });
  return wrong && `http.expectStatus has the range ${wrong}, which holds nothing; write the smaller status first`;
}

export interface Pace {
  intervalSeconds: number;
  timeoutMs: number;
  vantages: readonly string[];
  quorum: number;
}

/** A check must be over before the next one begins. */
export const timeoutComplaint = ({ intervalSeconds, timeoutMs }: Pick<Pace, 'intervalSeconds' | 'timeoutMs'>): Complaint =>
  timeoutMs >= intervalSeconds * 1_000
    ? `timeoutMs ${timeoutMs} is not below the interval of ${intervalSeconds} s; lower it, or check less often`
    : undefined;

export const quorumComplaint = ({ vantages, quorum }: Pick<Pace, 'vantages' | 'quorum'>): Complaint =>
  quorum > vantages.length
    ? `downCondition.quorum ${quorum} can never be met by ${vantages.length === 1 ? 'one vantage' : `${vantages.length} vantages`}; send a downCondition with a quorum of at most ${vantages.length}`
    : undefined;

/** 1 of 1, 2 of 2, 2 of 3, 3 of 5. */
export const majority = (vantages: readonly string[]): number => Math.floor(vantages.length / 2) + 1;

/** With every default written out: probers need not know them, and a later release may change them for new monitors only. */
export const targetOf = ({ http, tcp }: Targets): HttpTarget | TcpTarget => (http ? httpTarget(http) : tcpTarget(tcp!));

const httpTarget = (http: HttpInput): HttpTarget => ({
  url: http.url.split('#', 1)[0]!, // what follows is never sent
  method: http.method ?? 'GET',
  headers: http.headers ?? {},
  ...(http.bodyBase64 === undefined ? {} : { bodyBase64: http.bodyBase64 }),
  followRedirects: http.followRedirects ?? true,
  expectStatus: http.expectStatus ?? ['2xx'],
  ...(http.expectBodyContains === undefined ? {} : { expectBodyContains: http.expectBodyContains }),
});

const tcpTarget = (tcp: TcpInput): TcpTarget => ({
  host: tcp.host,
  port: tcp.port,
  tls: tcp.tls ?? false,
  ...(tcp.sendBase64 === undefined ? {} : { sendBase64: tcp.sendBase64 }),
  ...(tcp.expectPrefixBase64 === undefined ? {} : { expectPrefixBase64: tcp.expectPrefixBase64 }),
});
