import {
  afterSilence,
  beginsAgain,
  enter,
  ignored,
  judge,
  noOpinion,
  type Opinion,
  observe,
  type Reported,
  type Rule,
  type Standing,
  type Transition,
} from './down.ts';

export interface Watched extends Rule {
  enabled: boolean;
  epoch: number;
}

export interface TakenIn<R> {
  standing: Standing;
  /** Of the vantage that reported. */
  opinion: Opinion;
  transitions: Transition[];
  failures: { result: R; attempt: number }[];
  /** How many moved the opinion. */
  counted: number;
}

/** What one vantage reports of one monitor, oldest first, one result after the other: each is judged before the next is looked at. */
export function takeIn<R extends Reported>(
  monitor: Watched,
  standing: Standing,
  opinions: ReadonlyMap<string, Opinion>,
  vantage: string,
  results: readonly R[],
  now: number,
): TakenIn<R> {
  const known = new Map(opinions);
  const taken: TakenIn<R> = { standing, opinion: known.get(vantage) ?? noOpinion, transitions: [], failures: [], counted: 0 };
  for (const result of results) {
    if (ignored(result, taken.opinion, monitor, now)) continue;
    taken.counted++;
    if (beginsAgain(taken.standing, monitor, known, now)) taken.standing = { ...taken.standing, beganAt: now };
    const passed = result.outcome === 'pass';
    taken.opinion = observe(afterSilence(taken.opinion, monitor, result.at), passed, result.at, monitor.confirmations);
    known.set(vantage, taken.opinion);
    if (!passed) taken.failures.push({ result, attempt: taken.opinion.failStreak });
    const transition = judge(taken.standing, monitor, known, result.at, now);
    if (!transition) continue;
    taken.transitions.push(transition);
    taken.standing = enter(taken.standing, transition);
  }
  return taken;
}
