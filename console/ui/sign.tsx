import type { Judgement } from '../../sdk/browser.ts';

/** Drawn, since not every font has them: each judgement has a shape of its own. */
const shapes: Record<Judgement | 'unknown', string> = {
  good: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3',
  waiting: 'M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11m0 2a3.5 3.5 0 1 0 0 7a3.5 3.5 0 0 0 0-7',
  attention: 'M8 1.5l7 12.5H1zM7.2 6v4h1.6V6zm0 5v1.6h1.6V11z',
  bad: 'M4.2 2.8L8 6.6l3.8-3.8l1.4 1.4L9.4 8l3.8 3.8l-1.4 1.4L8 9.4l-3.8 3.8l-1.4-1.4L6.6 8L2.8 4.2z',
  unknown: 'M8 6a2 2 0 1 1 0 4a2 2 0 0 1 0-4',
};

export const Sign = ({ of }: { of: Judgement | 'unknown' }) => (
  <svg class={`sign ${of}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d={shapes[of]} fill-rule="evenodd" />
  </svg>
);
