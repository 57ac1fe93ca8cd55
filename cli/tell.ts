import { commandName } from './command-name.ts';
import { displayWidth } from './output/width.ts';

// The one way of sentences for people to the terminal. Tables and sheets have their own in output/.

/** A sentence on standard error. */
export const tell = (sentence: string): void => console.error(forTerminal(sentence, process.stderr));

/**
 * A text for people, in lines that fit the terminal. Broken between words only: commands, and whatever else is copied, stay whole, and so do
 * lines that begin with a space. Elsewhere than on a terminal nothing is broken. Commands are shown as they are typed here.
 */
export function forTerminal(text: string, stream: { isTTY?: boolean; columns?: number }): string {
  const typed = commandName === 'quarterdeck' ? text : text.replaceAll('`quarterdeck ', `\`${commandName} `);
  if (stream.isTTY !== true) return typed;
  return wrapLines(typed, stream.columns || 80);
}

export const wrapLines = (text: string, width: number): string =>
  text
    .split('\n')
    .map((line) => (line.startsWith(' ') || displayWidth(line) <= width ? line : wrapLine(line, width)))
    .join('\n');

function wrapLine(line: string, width: number): string {
  const hang = line.startsWith('✓ ') ? '  ' : '';
  const lines: string[] = [];
  let current = '';
  for (const piece of unbroken(line.split(' '))) {
    const room = width - displayWidth(current) - 1;
    // What fits on no line stays where it is: a break would not help.
    if (current && displayWidth(piece) > room && displayWidth(piece) <= width) {
      lines.push(current);
      current = `${hang}${piece}`;
    } else current = current ? `${current} ${piece}` : piece;
  }
  return [...lines, current].join('\n');
}

/** Words that begin a command which is written without quotes. */
const begins = new Set([commandName, `(${commandName}`, 'export']);

/** Words joined to what must stay on one line: the inside of `…`, and a command up to the next mark of the sentence. */
function unbroken(words: string[]): string[] {
  const pieces: string[] = [];
  let open: string[] = [];
  let isCommand = false;
  let isQuoted = false;
  const close = () => {
    if (open.length) pieces.push(open.join(' '));
    open = [];
    isCommand = false;
  };
  for (const word of words) {
    if (!open.length) isCommand = begins.has(word);
    open.push(word);
    if (word.split('`').length % 2 === 0) isQuoted = !isQuoted;
    if (isQuoted || (isCommand && !/[,;)?]$/.test(word))) continue;
    close();
  }
  // A quote that nothing closes is no quote: its words are broken as others are.
  if (isQuoted) return [...pieces, ...open];
  close();
  return pieces;
}
