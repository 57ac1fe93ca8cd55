// Work on the page lane. The engine enqueues these itself, so they are declared where it can reach them.
export { pageJob } from './engine/page.ts';
export { stepJob } from './engine/step.ts';
