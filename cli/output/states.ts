import type { Look, Style } from './look.ts';

/** The sign says without colour what the colour says. */
interface Judgement {
  sign: string;
  ascii: string;
  style: Style;
}

const good: Judgement = { sign: '●', ascii: '+', style: 'green' };
const waiting: Judgement = { sign: '○', ascii: 'o', style: 'dim' };
const attention: Judgement = { sign: '!', ascii: '!', style: 'yellow' };
const bad: Judgement = { sign: '✗', ascii: 'x', style: 'red' };

const words: [Judgement, string][] = [
  [good, 'verified ready up active delivered found sent received resolved supported confirmed yes accepted'],
  [waiting, 'pending provisioning none queued sending updating delivering preview deleting canceled scheduled walking'],
  [attention, 'acknowledged deprecated deferred degraded suppressed complained firing mismatch exhausted'],
  [bad, 'failed down bounced missing error fail open expired no'],
];

const byWord = new Map(words.flatMap(([judgement, list]) => list.split(' ').map((word) => [word, judgement] as const)));

/** Undefined for a word that this release does not know: states may be added. */
export const judge = (word: string): Judgement | undefined => byWord.get(word);

export const signOf = (judgement: Judgement | undefined, { unicode }: Look) =>
  judgement ? (unicode ? judgement.sign : judgement.ascii) : unicode ? '·' : '-';
