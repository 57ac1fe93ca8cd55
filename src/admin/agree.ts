import { createInterface } from 'node:readline/promises';

/** Asks at a terminal; elsewhere nothing is agreed, and the command names the option that agrees beforehand. */
export async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asked.question(`${question} [y/N] `).finally(() => asked.close());
  return /^y(es)?$/i.test(answer.trim());
}
