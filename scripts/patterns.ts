// Whether a text of other people's can hold the process: every regular expression of ours is judged by recheck, and its verdict noted in
// scripts/patterns/verdicts.json by the pattern's text, since some take seconds to judge. `--check` judges none: it says which verdicts are
// missing, and which patterns are not safe. `unknown` (recheck gave up) counts as not safe.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { contract } from '../contract/index.ts';
import { judge, type Rule, type Source } from './house/rule.ts';
import { type Bound, bounds } from './patterns/bounds.ts';
import { findPatterns, keyOf, type Pattern } from './patterns/find.ts';

type Verdict = 'safe' | 'vulnerable' | 'unknown';

const ledger = 'scripts/patterns/verdicts.json';
const timeoutMs = 10_000;

// The build for browsers: plain JavaScript, where the package's own entry wants a program for this kind of machine.
const recheck = () =>
  createRequire(import.meta.url)('recheck/lib/browser.js') as {
    checkSync(source: string, flags: string, options: { timeout: number }): { status: Verdict };
  };

const verdicts = new Map(Object.entries(JSON.parse(readFileSync(ledger, 'utf8')) as Record<string, Verdict>));
const asked = new Set<string>();

/** Patterns that the rule plants are judged while it runs. */
function verdictOf(pattern: { source: string; flags: string }): Verdict {
  const key = keyOf(pattern);
  asked.add(key);
  return verdicts.get(key) ?? recheck().checkSync(pattern.source, pattern.flags, { timeout: timeoutMs }).status;
}

const unsafe = ({ source, flags }: Pattern): string | undefined => {
  if (source === undefined) return 'is made while the program runs, so that nothing can judge it';
  const verdict = verdictOf({ source, flags });
  if (verdict === 'safe') return undefined;
  return verdict === 'vulnerable' ? 'can take a time that grows faster than its text' : 'could not be judged';
};

const covers = ({ files, containing }: Bound, { file, source }: Pattern) =>
  files.test(file) && (containing === undefined || source?.includes(containing) === true);

const at = (text: string): Source[] => [{ file: 'src/areas/x/a.ts', text }];

const patternsAreLinear: Rule<Source[]> = {
  name: 'a pattern takes a time that grows with its text alone, or its text is bounded',
  enforced: true,
  find: (sources) =>
    findPatterns(sources)
      .filter((pattern) => !bounds.some((bound) => covers(bound, pattern)))
      .flatMap((pattern) => {
        const why = unsafe(pattern);
        const mend = 'parse with indexOf, split and trim, or bound the text and name the bound in scripts/patterns/bounds.ts';
        return why ? [{ where: `${pattern.file}:${pattern.line}`, what: `${pattern.written} ${why}; ${mend}` }] : [];
      }),
  except: [[/^sdk\/generate\//, 'writes the SDK on a developer’s machine, from our own contract']],
  planted: [
    at('export const isField = (line: string) => /^\\s*([a-z]+)\\s*:\\s*(.*?)\\s*$/.test(line);'),
    at("const tail = '+$';\nexport const slashes = new RegExp('/' + tail);"),
    at('export const make = (name: string) => RegExp(name);'),
    at("export const schema = Type.String({ pattern: '^(a+)+$' });"),
  ],
  innocent: [
    at('export const isName = (text: string) => /^[a-z]{1,20}$/.test(text);'),
    at("export const find = (name: string) => new RegExp('^' + RegExp.escape(name) + '$');"),
    at('export const shown = { pattern: route.pattern };'),
  ],
};

/** Patterns of the contract that no literal shows: it is data, so all of them can be met. */
function patternsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  const { pattern } = value as { pattern?: unknown };
  if (typeof pattern === 'string') found.add(pattern);
  for (const inner of Object.values(value)) patternsIn(inner, found);
  return found;
}

function readSources(): Source[] {
  const files = globSync('{contract,src,cli,sdk}/**/*.ts').filter((file) => !file.includes('/test/') && !file.includes('/generated/'));
  const shown = [...patternsIn(contract)].map((pattern) => `export const schema = { pattern: ${JSON.stringify(pattern)} };`);
  return [...files.map((file) => ({ file, text: readFileSync(file, 'utf8') })), { file: 'contract (as data)', text: shown.join('\n') }];
}

/** A bound must be needed, and the words that enforce it must stand where it says. */
const checkBounds = (found: readonly Pattern[]): string[] =>
  bounds.flatMap((bound) => {
    const { files, by, characters } = bound;
    const isNeeded = found.some((pattern) => covers(bound, pattern) && unsafe(pattern) !== undefined);
    const isEnforced = readFileSync(by.file, 'utf8').includes(by.words);
    return [
      ...(isNeeded ? [] : [`the bound of ${characters} for ${files} is not needed any more; remove it from scripts/patterns/bounds.ts`]),
      ...(isEnforced ? [] : [`${by.file} does not enforce the bound of ${characters} characters any more: \`${by.words}\` is gone`]),
    ];
  });

const sources = readSources();
const found = findPatterns(sources);
const known = found.flatMap(({ source, flags }) => (source === undefined ? [] : [{ source, flags }]));
const missing = [...new Map(known.map((pattern) => [keyOf(pattern), pattern])).values()].filter((each) => !verdicts.has(keyOf(each)));

function note(): void {
  missing.forEach((pattern, n) => {
    verdicts.set(keyOf(pattern), verdictOf(pattern));
    if (n % 20 === 19) save(); // some take seconds: what is known is not lost
  });
  const used = new Set(known.map(keyOf));
  for (const key of verdicts.keys()) if (!used.has(key)) verdicts.delete(key);
  save();
}

const save = () => {
  const lines = [...verdicts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, verdict]) => `  ${JSON.stringify(key)}: "${verdict}"`);
  writeFileSync(ledger, `{\n${lines.join(',\n')}\n}\n`);
};

const isCheck = process.argv.includes('--check');
if (!isCheck) note();
const problems =
  isCheck && missing.length > 0
    ? missing.map((each) => `${keyOf(each)} has not been judged: run \`npm run fix\` and commit scripts/patterns/verdicts.json`)
    : [...judge(patternsAreLinear, sources), ...checkBounds(found)];
const used = new Set(known.map(keyOf));
if (isCheck)
  for (const key of verdicts.keys())
    if (!used.has(key)) problems.push(`${key} is nowhere any more: run \`npm run fix\` and commit scripts/patterns/verdicts.json`);
if (known.length < 300) problems.push(`only ${known.length} patterns were found`);
for (const problem of problems) console.error(problem);
process.exit(problems.length ? 1 : 0);
