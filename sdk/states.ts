/** What a word of a state tells. A state may be added by a later server: then it tells nothing. */
export type Judgement = 'good' | 'waiting' | 'attention' | 'bad';

const words: Record<Judgement, string> = {
  good: 'verified ready up active delivered found sent received resolved supported confirmed yes accepted passing',
  waiting: 'pending provisioning none queued sending updating delivering preview deleting canceled scheduled walking',
  attention: 'acknowledged deprecated deferred degraded suppressed complained firing mismatch exhausted',
  bad: 'failed down bounced missing error fail open expired no failing',
};

const byWord = new Map(Object.entries(words).flatMap(([judgement, list]) => list.split(' ').map((word) => [word, judgement as Judgement])));

export const judgeState = (word: string): Judgement | undefined => byWord.get(word);
