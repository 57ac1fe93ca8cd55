// What runs out, and who gets how much of it: docs/areas/kernel.md has the table.
export { type Behalf, becomeBehalf, currentBehalf, goOn, house, isLoopBusy, keepBehalf, onBehalf, together } from './behalf.ts';
export { type ByteBudget, type HeldBytes, type Holders, makeByteBudget } from './byte-budget.ts';
export { type Crowd, makeCrowd } from './crowd.ts';
export { type LoopLoad, watchLoop } from './loop-load.ts';
export { type LoopShare, makeLoopShare } from './loop-share.ts';
export { type LoopWatch, makeLoopWatch } from './loop-watch.ts';
export { makeRefusals, type Refusals } from './refusals.ts';
export { Crowded, makeTurnstile, type Turnstile } from './turnstile.ts';
