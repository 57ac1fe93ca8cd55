import { type OutputOptions, printJson, printTable } from '../output.ts';
import { readSettings } from '../session.ts';
import { askDns } from './dns.ts';
import { examine } from './examine.ts';

export async function printFindings(o: OutputOptions) {
  const findings = await examine(readSettings(), askDns);
  if (o.json) printJson(findings);
  else
    printTable(
      findings.map(({ verdict, check, says }) => ({ verdict, check, says })),
      '',
    );
  if (findings.some((f) => f.verdict === 'fail')) process.exitCode = 1;
}
