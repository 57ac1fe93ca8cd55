export interface Range {
  offset: number;
  length: number;
}

/** RFC 9110 14.1: one byte range of a content of this size. Several ranges or another unit: undefined, which serves the whole.
 *  'unsatisfiable' also for a range that ends before it begins: the specification of registries wants 416 there. */
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

/** `<start>-<end>` of a chunk, as the specification of registries writes Content-Range; some clients send RFC 9110's `bytes a-b/c`. */
export function chunkOf(header: string | undefined): Range | 'malformed' | undefined {
  if (header === undefined) return undefined;
  const m = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(header.trim());
  if (!m || Number(m[2]) < Number(m[1])) return 'malformed';
  return { offset: Number(m[1]), length: Number(m[2]) - Number(m[1]) + 1 };
}
