import { createInterface } from 'node:readline';
import { exitCodes, Failure, usage } from './exit.ts';
import { escaped, type Found } from './names/find.ts';
import { forTerminal } from './tell.ts';

type Terminal = NodeJS.ReadableStream & { isTTY?: boolean };

/** How a person is asked; tests bring their own. */
export interface Prompt {
  isTerminal: boolean;
  ask(question: string): Promise<string>;
}

export const terminalPrompt = (
  input: Terminal = process.stdin,
  output: NodeJS.WritableStream & { isTTY?: boolean; columns?: number } = process.stderr,
): Prompt => ({
  isTerminal: input.isTTY === true && output.isTTY === true,
  ask: (question) =>
    new Promise((resolve, reject) => {
      const lines = createInterface({ input, output });
      let isAnswered = false;
      lines.once('SIGINT', () => {
        // Before close, which would settle the question as unanswered.
        reject(new Failure(exitCodes.interrupted, 'interrupted: nothing was changed'));
        lines.close();
      });
      lines.once('close', () => {
        // The cursor still stands behind the question: what is said next begins on a line of its own.
        if (!isAnswered) output.write('\n');
        resolve('');
      });
      lines.question(forTerminal(question, output), (text) => {
        isAnswered = true;
        resolve(text);
        lines.close();
      });
    }),
});

export interface Losing {
  word: string;
  /** Without a name where the caller may not list such things. */
  what: Found;
  loses: string;
  forGood: boolean;
  /** The last word of the command: delete, revoke, remove. */
  verb: string;
}

/**
 * Asks before something is lost. Without a terminal only what cannot be made again needs `--yes`: scripts that delete the rest ran before
 * there was a question, and run on.
 */
export async function confirmLoss({ word, what, loses, forGood, verb }: Losing, isSure: boolean, prompt: Prompt): Promise<void> {
  if (isSure) return;
  const name = what.name ?? what.id;
  const shown = `${word} ${escaped(name)}${what.name && what.name !== what.id ? ` (${escaped(what.id)})` : ''}`;
  if (!prompt.isTerminal) {
    if (forGood) usage(`this loses ${loses}, and ${shown} cannot come back; say --yes to ${verb} it without a question`);
    return;
  }
  if (forGood) {
    const typed = await prompt.ask(`This loses ${loses}. The ${shown} cannot come back.\nType ${escaped(name)} to ${verb} it: `);
    if (typed.trim() === name) return;
  } else {
    const typed = await prompt.ask(`This loses ${loses}.\n${verb[0]!.toUpperCase()}${verb.slice(1)} ${shown}? [y/N] `);
    if (/^y(?:es)?$/i.test(typed.trim())) return;
  }
  throw new Failure(exitCodes.usage, 'nothing was changed');
}
