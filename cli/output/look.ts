import { styleText } from 'node:util';

/** Where the output goes, and what may be used there. */
export interface Look {
  /** Columns of the terminal; undefined: a pipe or a file, where lines are as long as they get. */
  width: number | undefined;
  color: boolean;
  /** Signs beyond ASCII. */
  unicode: boolean;
  /** Milliseconds: ages are counted from here. */
  now: number;
}

export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red';

export function lookOf(stream: { isTTY?: boolean; columns?: number }, env: NodeJS.ProcessEnv): Look {
  const isTerminal = stream.isTTY === true;
  return {
    width: isTerminal ? stream.columns || 80 : undefined,
    color: isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    unicode: isUnicode(env),
    now: machineTime(),
  };
}

/** The command line has no database to ask. Ages are shown by this clock, and nothing is decided. */
export const machineTime = () => Date.now();

/** As the C library decides. Systems other than Linux seldom set a locale, and their terminals have the signs. */
function isUnicode(env: NodeJS.ProcessEnv): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  return locale ? /utf-?8/i.test(locale) : process.platform !== 'linux';
}

export const styled = (style: Style | undefined, text: string, { color }: Look) =>
  color && style ? styleText(style, text, { validateStream: false }) : text;
