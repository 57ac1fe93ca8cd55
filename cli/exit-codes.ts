/** Exit codes are an interface: scripts rely on them. 3 to 10 belong to the server. */
export const exitCodes = {
  usage: 2,
  unauthenticated: 20,
  forbidden: 21,
  notFound: 22,
  conflict: 23,
  refused: 24,
  unavailable: 25,
  output: 26,
  failed: 27,
  timedOut: 28,
  wrong: 29,
  interrupted: 130,
} as const;

export const meanings: Record<number, string> = {
  0: 'done',
  1: 'unexpected',
  2: 'wrong usage',
  20: 'no valid token (401)',
  21: 'not allowed (403)',
  22: 'unknown (404)',
  23: 'conflict (409)',
  24: 'otherwise refused (4xx)',
  25: 'unavailable (5xx, or no answer)',
  26: 'done, but the output could not be written',
  27: 'what --wait watched has failed',
  28: 'not done within --timeout',
  29: 'something is wrong (status --check, oncall doctor)',
  130: 'interrupted while waiting',
};
