/** Fields of a header or a delivery status in order; names in lower case, values unfolded. */
export type Fields = [name: string, value: string][];

const maxFields = 500;
const maxValueLength = 4_000;

/** Parses a block of fields; `rest` follows the empty line. A line that is no field also ends the block, as in mail without a header. */
export function readFields(text: string): { fields: Fields; rest: string } {
  const fields: Fields = [];
  let at = 0;
  // mbox files have a "From " line before the header.
  if (/^(?:From |>From )/.test(text)) at = Math.max(0, text.indexOf('\n') + 1);
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end);
    if (/^[ \t]*$/.test(line.slice(0, 200))) {
      if (line.length > 0 && fields.length === 0 && line.length < 200) {
        at = end < 0 ? text.length : end + 1;
        continue;
      }
      return { fields, rest: end < 0 ? '' : text.slice(end + 1) };
    }
    if (!addField(fields, line)) return { fields, rest: text.slice(at) };
    at = end < 0 ? text.length : end + 1;
  }
  return { fields, rest: '' };
}

/** False: the line is neither a field nor a continuation. */
export function addField(fields: Fields, line: string): boolean {
  const last = fields.at(-1);
  // A parameter on its own line belongs to the previous field, even without folding.
  if (line.startsWith(' ') || line.startsWith('\t') || (last?.[1].endsWith(';') && /^[\w-]{1,40}=/.test(line))) {
    if (!last) return false;
    if (last[1].length < maxValueLength) last[1] += ` ${line.trim()}`.slice(0, maxValueLength);
    return true;
  }
  const colon = line.indexOf(':');
  if (colon < 1 || colon > 100 || !/^[!-9;-~]+[ \t]*$/.test(line.slice(0, colon))) return false;
  if (fields.length < maxFields)
    fields.push([
      line.slice(0, colon).trim().toLowerCase(),
      line
        .slice(colon + 1)
        .trim()
        .slice(0, maxValueLength),
    ]);
  return true;
}

export const fieldOf = (fields: Fields, name: string): string | undefined => fields.find(([known]) => known === name)?.[1];
