/** Patterns that recheck does not call safe, over texts that are short for certain. */
export interface Bound {
  files: RegExp;
  /** What the pattern's source contains; absent: every pattern in these files. */
  containing?: string;
  /** So long is the longest text that they see. */
  characters: number;
  /** Where that is enforced: these words must stand in this file. */
  by: { file: string; words: string };
  why: string;
}

const report = (file: string) => `src/areas/email/outbound/rules/report/${file}.ts`;

export const bounds: Bound[] = [
  {
    files: /^src\/areas\/email\/outbound\/rules\/bounces\/(phrases|languages|mailbox|strip-accents)\.ts$/,
    characters: 3_000,
    by: { file: 'src/areas/email/outbound/rules/bounces/phrases.ts', words: '.slice(0, maxJudgedLength)' },
    why: 'each looks at most 60 characters ahead of a word; replies are judged by `normalize`',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/retry\.ts$/,
    characters: 1_000,
    by: { file: 'src/areas/email/outbound/rules/retry.ts', words: 'text.slice(0, 1_000)' },
    why: 'it looks 40 characters ahead of a word',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/index\.ts$/,
    characters: 4_000,
    by: { file: report('fields'), words: '.slice(0, maxValueLength)' },
    why: 'the subject of a report, a field',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/notice\.ts$/,
    containing: 'below this line',
    characters: 200,
    by: { file: report('notice'), words: 'lines[at]!.slice(0, 200)' },
    why: 'the beginning of a line',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/notice\.ts$/,
    containing: 'recipient address',
    characters: 400,
    by: { file: report('notice'), words: 'line.slice(0, 400)' },
    why: 'the beginning of a line',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/notice\.ts$/,
    containing: 'you do not need to re-?send',
    characters: 8_000,
    by: { file: report('notice'), words: 'notice.slice(0, 4_000)' },
    why: 'the beginning of a notice, and its subject, a field',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/notice\.ts$/,
    containing: 'swept|confidential',
    characters: 300,
    by: { file: report('notice'), words: 'footer.test(line.slice(0, 300))' },
    why: 'the beginning of a line',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/status\.ts$/,
    characters: 1_000,
    by: { file: report('status'), words: '.slice(0, 1_000)' },
    why: 'one field, of which an address is at most 320 characters',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/codes\.ts$/,
    characters: 8_000,
    by: { file: report('codes'), words: 'text.slice(0, 8_000)' },
    why: 'the parts are literals, which are judged by themselves',
  },
  {
    files: /^src\/areas\/email\/outbound\/rules\/report\/notification\.ts$/,
    characters: 65_536,
    by: { file: report('mime'), words: '.slice(0, maxTextBytes)' },
    why: 'names of ours; each match looks at most 1,000 characters ahead',
  },
  {
    files: /^src\/admin\/(restore\/copy-in|backup\/catalog)\.ts$/,
    characters: 63,
    by: { file: 'src/drivers/process/store/kine.ts', words: 'pattern:' },
    why: 'patterns that areas declare, judged where they stand, over names of schemas in PostgreSQL',
  },
];
