import type { Report } from '../../../outbound/rules/report/index.ts';
import type { Reporter } from '../../../outbound/rules/report/reporter.ts';

// Messages between the process and its reader threads.

/** A message to parse. */
export interface Reading {
  /** `report`: mail to one of our return paths. */
  kind: 'mail' | 'report';
  raw: Uint8Array;
  /** The client, for SPF. */
  from: { ip: string; helo: string; sender: string };
  mailHost: string;
}

export type ToThread =
  | { type: 'read'; id: number; reading: Reading }
  | { type: 'dns'; id: number; answer: { records: unknown[] } | { code: string } }
  | { type: 'ping'; id: number };

export type FromThread =
  /** A partial result, used if the thread never finishes. */
  | { type: 'part'; id: number; part: Partial<ReadMail> }
  | { type: 'done'; id: number; result: ReadResult }
  | { type: 'failed'; id: number; why: string }
  | { type: 'dns'; id: number; reading: number; name: string; rrtype: string }
  | { type: 'pong'; id: number };

export type ReadResult =
  | { kind: 'mail'; mail: ReadMail }
  /** `reporter`: for a complaint, whether its sender is verified. */
  | { kind: 'report'; report: Report; reporter?: Reporter };

/** A parsed message; every field is bounded. */
export interface ReadMail {
  from: string;
  to: string[];
  cc: string[];
  subject: string | null;
  headers: { messageId?: string; inReplyTo?: string; references?: string; date?: string };
  text: string | null;
  html: string | null;
  attachments: Attachment[];
  /** Text, HTML or attachments were cut or left out. */
  isTruncated: boolean;
  authentication: Authentication;
  /** Why the message could not be read completely. */
  problem: string | null;
}

export interface Attachment {
  filename: string | null;
  contentType: string;
  sizeBytes: number;
  contentId?: string;
}

/** Results of SPF, DKIM, DMARC and ARC. */
export interface Authentication {
  spf: { result: string; domain?: string };
  dkim: { result: string; domain?: string; selector?: string; aligned?: boolean }[];
  dmarc: { result: string; domain?: string; policy?: string };
  arc: { result: string };
}

/** The result for a message that could not be read. */
export const unreadMail = (problem: string, known: Partial<ReadMail> = {}): ReadMail => ({
  from: '',
  to: [],
  cc: [],
  subject: null,
  headers: {},
  text: null,
  html: null,
  attachments: [],
  isTruncated: true,
  authentication: unknownAuthentication(),
  ...known,
  problem,
});

/** No check finished. */
const unknownAuthentication = (): Authentication => ({
  spf: { result: 'temperror' },
  dkim: [],
  dmarc: { result: 'temperror' },
  arc: { result: 'none' },
});
