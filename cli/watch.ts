import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes, Failure, usage } from './exit.ts';
import { tell } from './tell.ts';

const fromTheTop = '\u001b[H\u001b[2J';

/** Asks again and again, and draws each answer over the one before. Ends with Ctrl-C, or with a refusal. */
export async function redraw<T>(
  ask: () => Promise<T>,
  draw: (answer: T) => void,
  { out = process.stdout, pauseMs = 2000 }: { out?: NodeJS.WriteStream; pauseMs?: number } = {},
): Promise<never> {
  if (!out.isTTY) return usage('--watch draws on a terminal; a script asks in a loop of its own');
  for (;;) {
    const answer = await ask().catch((error: unknown) => away(error));
    out.write(fromTheTop);
    if (answer instanceof Failure) tell(`${answer.message}; asking again`);
    else draw(answer);
    await sleep(pauseMs);
  }
}

/** A server that is away for a moment ends nothing. */
function away(error: unknown): Failure {
  if (error instanceof Failure && error.exitCode === exitCodes.unavailable) return error;
  throw error;
}
