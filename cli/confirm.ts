import { createInterface } from 'node:readline';
import { exitCodes, Failure, usage } from './exit.ts';
import { escaped, type Found } from './names/find.ts';

/** How a person is asked; tests bring their own. */
export interface Prompt {
  isTerminal: boolean;
  ask(question: string): Promise<string>;
}

export const terminalPrompt = (): Prompt => ({
  isTerminal: process.stdin.isTTY === true && process.stderr.isTTY === true,
  ask: (question) =>
    new Promise((resolve, reject) => {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      lines.once('SIGINT', () => {
        lines.close();
        reject(new Failure(exitCodes.interrupted, 'nothing was changed'));
      });
      lines.once('close', () => resolve(''));
      lines.question(question, (text) => {
        resolve(text);
        lines.close();
      });
    }),
});

export interface Losing {
  word: string;
  what: Found;
  loses: string;
  forGood: boolean;
  /** The name is not known: the caller could not list it. */
  verb: string;
}

/**
 * Asks before something is lost. Without a terminal only what cannot be made again needs `--yes`: scripts that delete the rest ran before
 * there was a question, and run on.
 */
export async function confirmLoss({ word, what, loses, forGood, verb }: Losing, isSure: boolean, prompt: Prompt): Promise<void> {
  if (isSure) return;
  const name = what.name ?? what.id;
  const shown = `${word} ${escaped(name)}${what.name && what.name !== what.id ? ` (${what.id})` : ''}`;
  if (!prompt.isTerminal) {
    if (forGood) usage(`this loses ${loses}, and ${shown} cannot come back; say --yes to ${verb} it without a question`);
    return;
  }
  if (forGood) {
    const typed = await prompt.ask(`This loses ${loses}. The ${shown} cannot come back.\nType ${escaped(name)} to ${verb} it: `);
    if (typed.trim() === name) return;
  } else {
    const typed = await prompt.ask(`This loses ${loses}. ${verb[0]!.toUpperCase()}${verb.slice(1)} ${shown}? [y/N] `);
    if (/^y(?:es)?$/i.test(typed.trim())) return;
  }
  throw new Failure(exitCodes.usage, 'nothing was changed');
}
