// `npm run score -- bounces <folder>`: holds what we make of bounce mails against labels, and prints one line of JSON.
// With `--mutate` it damages each mail in many ways instead, and says how much time of the processor the slowest took to read, and that none threw.
// The folder has labels.json ({"<name>": [{reason, hard}, …]}) and mails/<name>.eml.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Report, readReport } from '../src/areas/email/outbound/rules/report/index.ts';
import { mutate, randomFrom } from './score/mutate.ts';

interface Label {
  reason: string;
  hard: boolean;
}

const isHard = ({ kind, recipients }: Report, n: number): boolean => {
  const said = recipients[n] ?? recipients[0];
  return kind === 'delivery' && said?.action === 'failed' && said.bounceType === 'hard';
};

/** Over all labels that are no complaints: label n is held against recipient n, or the first where a report names fewer. */
function score(folder: string) {
  const labels = JSON.parse(readFileSync(join(folder, 'labels.json'), 'utf8')) as Record<string, Label[]>;
  const total = { labels: 0, right: 0, falseHard: 0, missedHard: 0 };
  for (const [name, expected] of Object.entries(labels)) {
    const report = readReport(readFileSync(join(folder, 'mails', `${name}.eml`)));
    for (const [n, { reason, hard }] of expected.entries()) {
      if (reason === 'feedback') continue;
      total.labels++;
      if (isHard(report, n) === hard) total.right++;
      else if (hard) total.missedHard++;
      else total.falseHard++;
    }
  }
  return total;
}

const mutationsEach = 60;

/** Of this thread alone: on a busy machine another program may have been in between. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function mutateAll(folder: string) {
  const mails = readdirSync(join(folder, 'mails')).filter((name) => name.endsWith('.eml'));
  const random = randomFrom(14);
  const result = { mails: mails.length, mutations: 0, threw: 0, slowestMs: 0, slowest: '' };
  const contents = mails.map((name) => readFileSync(join(folder, 'mails', name)));
  // What is read first pays for compiling the patterns.
  for (const content of contents) readReport(content);
  for (const [n, content] of contents.entries()) {
    for (let i = 0; i < mutationsEach; i++) {
      const damaged = mutate(content, contents[Math.floor(random() * contents.length)]!, random);
      const before = processorMs();
      try {
        readReport(damaged);
      } catch {
        result.threw++;
      }
      const took = processorMs() - before;
      result.mutations++;
      if (took > result.slowestMs) Object.assign(result, { slowestMs: Math.round(took * 10) / 10, slowest: mails[n] });
    }
  }
  return result;
}

const [what, folder, ...flags] = process.argv.slice(2);
if (what !== 'bounces' || !folder) {
  console.error('usage: npm run score -- bounces <folder> [--mutate]');
  process.exit(2);
}
console.log(JSON.stringify(flags.includes('--mutate') ? mutateAll(folder) : score(folder)));
