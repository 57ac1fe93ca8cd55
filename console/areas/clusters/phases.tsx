import type { Api } from '../../../sdk/browser.ts';
import { duration } from '../../ui/cell.tsx';
import { Sign } from '../../ui/sign.tsx';
import { State } from '../../ui/state.tsx';
import { Moment } from '../../ui/time.tsx';

type Phase = Awaited<ReturnType<Api['clusters']['getClusterHistory']>>['phases'][number];

const first = ['pending', 'provisioning', 'ready'];

/** The steps that a new cluster takes, with the time of each; those ahead are pale. */
export function FirstSteps({ phases }: { phases: readonly Phase[] }) {
  const reached = new Map(phases.toReversed().map((each) => [each.phase, each]));
  return (
    <ol class="phases" aria-label="From asked for to ready">
      {first.map((phase) => {
        const found = reached.get(phase);
        return (
          <li key={phase} class={found ? undefined : 'faint'} aria-current={phases.at(-1)?.phase === phase ? 'step' : undefined}>
            <Sign of={found ? (phase === 'ready' ? 'good' : 'waiting') : 'unknown'} /> {phase}
            <div class="small-text">{found ? <Moment at={found.at} options={{ timeStyle: 'medium', dateStyle: 'short' }} /> : 'ahead'}</div>
          </li>
        );
      })}
    </ol>
  );
}

/** Every phase so far, the newest first: what was changed, why it failed, and how long it took. */
export function PhaseLog({ phases }: { phases: readonly Phase[] }) {
  const newestFirst = phases.map((each, at) => ({ ...each, until: phases[at + 1]?.at })).toReversed();
  return (
    <ol class="log">
      {newestFirst.map(({ at, phase, what, reason, until }, index) => (
        <li key={`${at} ${index}`}>
          <Moment at={at} options={{ dateStyle: 'short', timeStyle: 'medium' }} /> <State word={phase} />{' '}
          <span class="faint">{until ? `for ${duration((Date.parse(until) - Date.parse(at)) / 1_000)}` : 'now'}</span>
          {what && phase === 'updating' && <div>{what}</div>}
          {reason && <div class="bad small-text pre">{reason}</div>}
        </li>
      ))}
    </ol>
  );
}
