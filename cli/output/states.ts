import { type Judgement, judgeState } from '../../sdk/states.ts';
import type { Look, Style } from './look.ts';

/** The sign says without colour what the colour says. */
interface Sign {
  sign: string;
  ascii: string;
  style: Style;
}

const signs: Record<Judgement, Sign> = {
  good: { sign: '●', ascii: '+', style: 'green' },
  waiting: { sign: '○', ascii: 'o', style: 'dim' },
  attention: { sign: '!', ascii: '!', style: 'yellow' },
  bad: { sign: '✗', ascii: 'x', style: 'red' },
};

/** Undefined for a word that this release does not know: states may be added. */
export function judge(word: string): Sign | undefined {
  const judgement = judgeState(word);
  return judgement && signs[judgement];
}

export const signOf = (judgement: Sign | undefined, { unicode }: Look) =>
  judgement ? (unicode ? judgement.sign : judgement.ascii) : unicode ? '·' : '-';
