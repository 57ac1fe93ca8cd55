import type { CertificateRow } from '../store/certificates.ts';

/** A name's certificate as people are told of it. */
export interface CertificateStatus {
  /** `valid` also while it is renewed; `failed`: there is none, or it has expired, and the last attempt failed. */
  state: 'ordered' | 'valid' | 'failed';
  validUntil?: string;
  /** What went wrong last, and when it is tried again. */
  sentence?: string;
}

export function certificateStatus(row: CertificateRow, now: string): CertificateStatus {
  const isValid = row.not_after !== null && row.not_after > now;
  const until = row.not_after === null ? {} : { validUntil: row.not_after };
  if (row.last_error === null) return { state: isValid ? 'valid' : 'ordered', ...until };
  const sentence = `${row.last_error}; tried again ${row.next_at > now ? `at ${row.next_at}` : 'now'}`;
  return { state: isValid ? 'valid' : 'failed', ...until, sentence };
}
