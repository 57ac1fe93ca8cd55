import { judgeState } from '../../sdk/browser.ts';
import { Sign } from './sign.tsx';

/** A word of a state, with a sign that says without colour what the colour says. */
export function State({ word, label = word }: { word: string; label?: string }) {
  const judgement = judgeState(word);
  return (
    <span class={`state ${judgement ?? ''}`}>
      <Sign of={judgement ?? 'unknown'} /> {label}
    </span>
  );
}
