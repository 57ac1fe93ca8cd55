export interface Range {
  offset: number;
  length: number;
}

/**
 * One byte range (RFC 9110 14.1) of content of this size. Undefined for several ranges or another unit: the whole is served.
 * 'unsatisfiable' also for a range that ends before it begins, since the OCI specification requires 416.
 */
export function rangeOf(header: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const m = header === undefined ? null : /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim());
  if (!m || (m[1] === '' && m[2] === '')) return undefined;
  if (m[1] === '') {
    const length = Math.min(Number(m[2]), size);
    return length === 0 ? 'unsatisfiable' : { offset: size - length, length };
  }
  const offset = Number(m[1]);
  const last = m[2] === '' ? size - 1 : Math.min(Number(m[2]), size - 1);
  return offset >= size || last < offset ? 'unsatisfiable' : { offset, length: last - offset + 1 };
}

/** `<start>-<end>` of a chunk, the Content-Range of the OCI specification; some clients send RFC 9110's `bytes a-b/c`. */
export function chunkOf(header: string | undefined): Range | 'malformed' | undefined {
  if (header === undefined) return undefined;
  const m = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(header.trim());
  if (!m || Number(m[2]) < Number(m[1])) return 'malformed';
  return { offset: Number(m[1]), length: Number(m[2]) - Number(m[1]) + 1 };
}
