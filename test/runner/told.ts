/** What a process that runs test files tells the one that started it, in this order for each file. */
export type Told =
  | { type: 'begun'; file: string; pid: number }
  | { type: 'started'; file: string; name: string }
  | { type: 'passed'; file: string; name: string; ms: number; skipped?: string }
  | { type: 'failed'; file: string; name: string; at: string; error: string }
  | { type: 'ended'; file: string; tests: number; ms: number; cpuMs: number; isSpoiled: boolean };
