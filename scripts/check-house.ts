// Rules of the house that no linter knows.
import { globSync, readFileSync } from 'node:fs';
import { contract } from '../contract/index.ts';
import { listsAreNoArguments } from './house/argument-lists.ts';
import { whatChangesIsAudited } from './house/audited.ts';
import { handlersAreGuarded } from './house/guarded.ts';
import { areasHaveTheSameFolders, foldersAreOfOneIdea, functionsAreShort } from './house/layout.ts';
import { membersUseTheirGuard } from './house/operator-guard.ts';
import { outward } from './house/outward.ts';
import { readersWriteNothing, whatIsTakenComesBack } from './house/promises.ts';
import { rightsAreAskedInside } from './house/rights.ts';
import { largeRoomsExplainThemselves } from './house/rooms.ts';
import { judge, type Rule } from './house/rule.ts';
import { onlyStoresSpeakSql } from './house/sql.ts';
import { patternsMatchFiles } from './house/stale-patterns.ts';
import { namesSayWhat, sentencesNameWhoActs } from './house/words.ts';

const problems: string[] = [];
const sources = globSync('{contract,src,cli,sdk}/**/*.ts').filter((f) => !f.includes('/test/') && !f.includes('/generated/'));
const read = (file: string) => readFileSync(file, 'utf8');

/** Rules that a word gives away, each with lines in which it must be found. */
const judgesPeers = /\bremoteAddress\b|x-forwarded-|\.headers\.forwarded\b|\brequest\.(ips?|protocol)\b|\btrustProxy\b/;
const callsBack = /\b(dispose|disposeAfter|onInsert|fetchMethod|memoMethod)\s*[:(]/;
const planted: [RegExp, string[]][] = [
  [
    judgesPeers,
    ['socket.remoteAddress', "headers['x-forwarded-for']", 'request.ip;', 'request.ips[0]', 'request.protocol', 'trustProxy: true'],
  ],
  [callsBack, ['dispose: (value) => tell(value)', 'disposeAfter(value) {', 'fetchMethod: load']],
];
for (const [rule, lines] of planted)
  for (const line of lines) if (!rule.test(line)) problems.push(`the rule ${rule} would not find \`${line}\``);

for (const file of sources) {
  const text = read(file);
  const lines = text.split('\n').length;
  if (lines > 400) problems.push(`${file}: ${lines} lines; a file of one idea has at most 400`);
  // One clock, one source of settings: see src/kernel/time.ts and src/kernel/config.ts.
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  // A prober has no database to ask for either.
  const isProber =
    /^src\/(areas\/uptime\/planes\/(prober\/(clock|child)|(agents\/)?local\/child)|programs\/prober\/(clock|main))\.ts$/.test(file);
  if (
    /\bDate\.now\(\)|new Date\(\)|Temporal\.Now\b/.test(code) &&
    !isProber &&
    !file.startsWith('src/admin/doctor/') &&
    file !== 'src/kernel/wall-clock.ts' &&
    // The command line has no database to ask; by its clock ages are shown, and nothing is decided.
    file !== 'cli/output/look.ts'
  )
    problems.push(`${file}: asks this machine for the time; decisions use kernel.now(), durations performance.now()`);
  if (/\bMath\.random\(\)/.test(code)) problems.push(`${file}: Math.random() is not for us; use node:crypto`);
  if (
    /process\.env\b|\benv\b.*'node:process'/.test(code) &&
    !isProber &&
    // A program beside the server is told what it is by its environment.
    file !== 'src/areas/clusters/planes/balancer/program.ts' &&
    !/^(src\/main\.ts|src\/commands\/|src\/kernel\/config\.ts|src\/kernel\/programs\/(identity|own)\.ts|src\/admin\/|cli\/)/.test(file)
  )
    problems.push(`${file}: reads the environment; settings come from src/kernel/config.ts`);
  // Limits that each read an address in a way of their own are evaded in one of them. The guard compares where its own connections lead.
  // What is handed on to a cluster's apiserver is stripped of all that.
  const handsOn = file === 'src/drivers/process/rules/forwarding.ts';
  if (judgesPeers.test(code) && !handsOn && file !== 'src/kernel/http/peer.ts' && !file.startsWith('src/kernel/guard/'))
    problems.push(`${file}: looks at where a request comes from; ask src/kernel/http/peer.ts`);
  // A library that calls us in the middle of its own work finds us calling it again: see src/kernel/cache.ts.
  if (callsBack.test(code) && file !== 'src/kernel/cache.ts')
    problems.push(`${file}: lets an LRUCache call it; remember through src/kernel/cache.ts, which tells outside the library`);
}

// The console runs in browsers: it has rules of its own. Tenants' words are on its pages, so nothing there makes markup out of text.
const pages = globSync('console/**/*.{ts,tsx}').filter((f) => !f.endsWith('.d.ts'));
const makesMarkup = /dangerouslySetInnerHTML|\b(inner|outer)HTML\b|insertAdjacentHTML|\beval\(|new Function\b|document\.write/;
const ownRequests = /\bfetch\(|XMLHttpRequest|new EventSource\b|new WebSocket\b|sendBeacon/;
for (const [rule, lines] of [
  [makesMarkup, ['dangerouslySetInnerHTML={{ __html: name }}', 'element.innerHTML = name', "eval('1')"]],
  [ownRequests, ["fetch('/api/v1/me')", "new EventSource('/x')"]],
] as const)
  for (const line of lines) if (!rule.test(line)) problems.push(`the rule ${rule} would not find \`${line}\``);
for (const file of pages) {
  const text = read(file);
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  const lines = text.split('\n').length;
  if (lines > 400) problems.push(`${file}: ${lines} lines; a file of one idea has at most 400`);
  // What people paste into their own programs is text here.
  const isPasted = file === 'console/areas/email/snippets.ts';
  if (makesMarkup.test(code)) problems.push(`${file}: makes markup out of text; Preact shows text as text`);
  if (ownRequests.test(code) && !isPasted && !/^console\/(data\/api|shell\/signed-out)\.tsx?$/.test(file))
    problems.push(`${file}: asks the server by itself; the SDK is the only way, through console/data/query.ts and act.ts`);
  if (/\bDate\.now\(\)|new Date\(\)/.test(code) && !isPasted && file !== 'console/data/clock.ts')
    problems.push(`${file}: asks the browser for the time, which may be wrong by hours; ask console/data/clock.ts`);
  if (/\bMath\.random\(\)/.test(code)) problems.push(`${file}: Math.random() is not for us; use crypto`);
}
if (pages.length < 30) problems.push(`only ${pages.length} files of the console were read`);
if (sources.length < 100) problems.push(`only ${sources.length} sources were read`);

/** What breaks a rule that is not enforced yet is only told. */
function apply<Input>(rule: Rule<Input>, input: Input) {
  const broken = judge(rule, input);
  if (rule.enforced) problems.push(...broken);
  else if (broken.length) console.log(`not enforced yet: ${rule.name}\n${broken.map((b) => `  ${b}`).join('\n')}`);
}
const files = sources.map((file) => ({ file, text: read(file) }));
for (const rule of [
  outward,
  membersUseTheirGuard,
  handlersAreGuarded,
  whatChangesIsAudited,
  rightsAreAskedInside,
  onlyStoresSpeakSql,
  areasHaveTheSameFolders,
  foldersAreOfOneIdea,
  functionsAreShort,
  largeRoomsExplainThemselves,
  namesSayWhat,
  sentencesNameWhoActs,
  listsAreNoArguments,
])
  apply(rule, files);
apply(patternsMatchFiles, {
  rules: globSync(['scripts/house/*.ts', 'scripts/check-house.ts', '.dependency-cruiser.cjs']).map((file) => ({ file, text: read(file) })),
  files: globSync('{src,contract,cli,sdk,console,test,bench,bin,scripts}/**/*.{ts,tsx,mjs,sql,json}'),
});
for (const rule of [readersWriteNothing, whatIsTakenComesBack]) apply(rule, { ops: contract, sources: files });

for (const p of problems) console.error(p);
process.exit(problems.length ? 1 : 0);
