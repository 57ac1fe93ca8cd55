import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readReport } from '../../src/areas/email/outbound/rules/report/index.ts';
import { complaint, delay, dialects, hardBounce, softBounce, vacation } from '../../src/areas/email/outbound/test/feedback/mails.ts';

const copies = 25;

/** Mails of our own, or those of QUARTERDECK_BENCH_BOUNCES. */
function openMails(): { folder: string; end(): void } {
  const given = process.env.QUARTERDECK_BENCH_BOUNCES;
  if (given) return { folder: given, end() {} };
  const folder = mkdtempSync(join(tmpdir(), 'qd-bounces-'));
  const mails = [hardBounce(), softBounce(), delay(), complaint(), vacation, ...Object.values(dialects).map(({ mail }) => mail)];
  for (let copy = 0; copy < copies; copy++) for (const [n, mail] of mails.entries()) writeFileSync(join(folder, `${copy}-${n}.eml`), mail);
  return { folder, end: () => rmSync(folder, { recursive: true }) };
}

/** Prints how many mails were read, and in how many seconds, without the start of perl. */
const program =
  'use Sisimai; use Time::HiRes "time"; my $began = time; Sisimai->make($ARGV[0], delivered => 1); printf "%.6f", time - $began;';

export const withoutSisimai = () => spawnSync('perl', ['-MSisimai', '-e', '1']).status !== 0;

/** Reports a second, ours and libsisimai's: each reads every mail of a folder from the disk, one after the other. */
export function measureBounces(rounds: number): { ours: number[]; theirs: number[]; mails: number } {
  const { folder, end } = openMails();
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.eml'));
    const rates = { ours: [] as number[], theirs: [] as number[], mails: names.length };
    for (let round = 0; round <= rounds; round++) {
      const seconds = Number(execFileSync('perl', ['-e', program, folder], { stdio: ['ignore', 'pipe', 'ignore'] }));
      const began = performance.now();
      for (const name of names) readReport(readFileSync(join(folder, name)));
      const own = (performance.now() - began) / 1000;
      if (round === 0) continue; // warms both up
      rates.theirs.push(names.length / seconds);
      rates.ours.push(names.length / own);
    }
    return rates;
  } finally {
    end();
  }
}
