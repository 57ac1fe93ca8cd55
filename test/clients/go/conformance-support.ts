import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

// Kubernetes' own tests (e2e.test of the newest version, built by run.ts), and the list of what each kind of cluster does with them.

/** Each test tagged `[Conformance]` is in exactly one of these lists. */
export interface ConformanceLists {
  /** They need no node. All pass on a cluster of programs. */
  controlPlane: string[];
  /** Those of them that an embedded cluster refuses, by a piece of what it says. */
  embeddedRefuses: Record<string, string[]>;
  /** Why some of them are not tried on an embedded cluster. */
  embeddedCannotRun: Record<string, string[]>;
  /** They need a node. All pass on a cluster of programs with a single one. */
  oneNode: string[];
  /** What the others need, which are not run. */
  notRun: Record<string, string[]>;
}

export const readLists = async (): Promise<ConformanceLists> =>
  JSON.parse(await readFile(join(import.meta.dirname, 'conformance/tests.json'), 'utf8'));

export interface SpecResult {
  name: string;
  state: string;
  seconds: number;
  /** What it said when it failed. */
  message: string;
}

interface GinkgoSpec {
  LeafNodeType: string;
  LeafNodeText: string;
  ContainerHierarchyTexts: string[] | null;
  State: string;
  RunTime: number;
  Failure?: { Message?: string };
}

/** `[sig-x] A B does [Conformance]`, as Kubernetes lists it. */
const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }: GinkgoSpec) => [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

interface Run {
  /** For reports and logs. */
  dir: string;
  kubeconfig: string;
  /** An embedded cluster has no kube-root-ca.crt, which the tests would wait for in each namespace. */
  isEmbedded?: boolean;
  /** A node is there, and ready. */
  hasNode?: boolean;
}

let runs = 0;

async function runSome(
  { dir, kubeconfig, isEmbedded = false, hasNode = false }: Run,
  flags: readonly string[],
): Promise<{ results: SpecResult[]; log: string }> {
  const own = join(dir, String(++runs));
  await mkdir(own);
  const report = join(own, 'report.json');
  const log = join(own, 'log');
  const args = [
    `--kubeconfig=${kubeconfig}`,
    '--provider=skeleton',
    ...(hasNode ? [] : ['--allowed-not-ready-nodes=-1', '--num-nodes=0']),
    `--e2e-verify-service-account=${!isEmbedded}`,
    '--dump-logs-on-failure=false',
    `--report-dir=${own}`,
    `--ginkgo.json-report=${report}`,
    '--ginkgo.no-color',
    '--ginkgo.timeout=2h',
    ...flags,
  ];
  const child = spawn('e2e.test', args, { cwd: own, env: { HOME: own, PATH: process.env['PATH']!, KUBECONFIG: kubeconfig } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  await writeFile(log, said);
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) throw new Error(`e2e.test left no report: ${said.slice(-2_000)}`);
  const [suite] = JSON.parse(text) as { SpecReports: GinkgoSpec[] | null }[];
  const broken = (suite?.SpecReports ?? []).find((each) => each.LeafNodeType !== 'It' && each.Failure?.Message);
  if (broken) throw new Error(`e2e.test could not begin: ${broken.Failure!.Message}`);
  const results = (suite?.SpecReports ?? [])
    .filter(({ LeafNodeType, State }) => LeafNodeType === 'It' && State !== 'skipped')
    .map((each) => ({ name: nameOf(each), state: each.State, seconds: each.RunTime / 1e9, message: each.Failure?.Message ?? '' }));
  return { results, log };
}

/** The names of all tests tagged `[Conformance]`. */
export async function listConformanceTests(run: Run): Promise<string[]> {
  const { results } = await runSome(run, ['--ginkgo.dry-run', '--ginkgo.focus=\\[Conformance\\]']);
  return results.map(({ name }) => name).sort();
}

/** Those that may be beside others run in several processes. With a node they mostly wait for it. */
const processesFor = ({ hasNode = false }: Run) => (hasNode ? 8 : 4);

export async function runConformanceTests(run: Run, names: readonly string[]): Promise<SpecResult[]> {
  const mustBeAlone = (name: string) => /\[Serial\]|\[Disruptive\]/.test(name);
  const focus = (some: readonly string[]) => `--ginkgo.focus=^Kubernetes e2e suite (?:${some.map(escaped).join('|')})$`;
  const shared = names.filter((name) => !mustBeAlone(name));
  const processes = processesFor(run);
  const shards = Array.from({ length: processes }, (_, n) => shared.filter((_, at) => at % processes === n));
  const filled = shards.filter((some) => some.length > 0);
  // All of them end before a failure is told.
  const ended = await Promise.allSettled(filled.map((some) => runSome(run, [focus(some)])));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  const results = ended.flatMap((each) => (each.status === 'fulfilled' ? each.value.results : []));
  const alone = names.filter(mustBeAlone);
  return alone.length === 0 ? results : [...results, ...(await runSome(run, [focus(alone)])).results];
}

export const failuresOf = (results: readonly SpecResult[]) =>
  results.filter(({ state }) => state !== 'passed').map(({ name, state, message }) => `${name}: ${state}: ${message.slice(0, 600)}`);

/** What fails beside others on a busy machine runs once more, alone; what passes then is told as unsteady. */
export async function runSteadily(t: TestContext, run: Run, names: readonly string[]): Promise<SpecResult[]> {
  const results = await runConformanceTests(run, names);
  const failed = results.filter(({ state }) => state !== 'passed');
  if (failed.length === 0 || failed.length > names.length * unsteadyAtMost) return results;
  const again = await runConformanceTests(
    run,
    failed.map(({ name }) => name),
  );
  const isSteady = (name: string) => !again.some((each) => each.name === name && each.state === 'passed');
  for (const { name, message } of failed) if (!isSteady(name)) t.diagnostic(`UNSTEADY, passed alone: ${name}: ${message.slice(0, 300)}`);
  return [...results.filter(({ state }) => state === 'passed'), ...again];
}
/** As a part of them all. */
const unsteadyAtMost = 0.025;
