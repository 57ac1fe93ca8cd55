export { makeAgentContext } from './answers.ts';
export { agentsPlane } from './handler.ts';
export { byToken } from './identify.ts';
export { startLocal } from './local/index.ts';
