// Long commands say how far they are, on standard error: on a terminal one line that is drawn again each half second, elsewhere a line
// every five seconds. The first second is silent on a terminal, the first five elsewhere: most commands end before.

const tickMs = 500;
const quietMs = 1_000;
const pipeEveryMs = 5_000;
const barWidth = 20;

export interface Progress {
  /** Another part of the work. Without a total only its duration is told. */
  begin(label: string, total?: number): void;
  add(amount: number): void;
  end(): void;
}

/** For callers that show nothing. */
export const noProgress: Progress = { begin() {}, add() {}, end() {} };

interface Output {
  isTTY?: boolean;
  write(text: string): unknown;
}

export function makeProgress(output: Output = process.stderr): Progress {
  let part: { label: string; total: number | undefined; done: number; since: number } | undefined;
  let spokenAt = performance.now();
  let isDrawn = false;

  const clear = () => {
    if (isDrawn) output.write('\r\u001b[K');
    isDrawn = false;
  };
  const tick = () => {
    if (!part) return;
    const now = performance.now();
    const text = progressText(part, now);
    if (output.isTTY && now - part.since >= quietMs) {
      output.write(`\r\u001b[K${text}`);
      isDrawn = true;
    } else if (!output.isTTY && now - spokenAt >= pipeEveryMs) {
      output.write(`${text}\n`);
      spokenAt = now;
    }
  };
  const timer = setInterval(tick, tickMs).unref();
  return {
    begin(label, total) {
      clear();
      part = { label, total, done: 0, since: performance.now() };
    },
    add(amount) {
      if (part) part.done += amount;
    },
    end() {
      clearInterval(timer);
      clear();
      part = undefined;
    },
  };
}

/** `copying rows  [########------------] 40 %  12 s`; at most 80 columns. */
export function progressText(part: { label: string; total: number | undefined; done: number; since: number }, now: number): string {
  const label = part.label.length > 40 ? `${part.label.slice(0, 39)}…` : part.label;
  const seconds = `${Math.round((now - part.since) / 1000)} s`;
  if (!part.total) return `${label}  ${seconds}`;
  const share = Math.min(1, part.done / part.total);
  const filled = Math.floor(share * barWidth);
  return `${label}  [${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${Math.floor(share * 100)} %  ${seconds}`;
}

/** Shows how far some work is, and takes the line away when it ends in any way. */
export async function withProgress<T>(work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = makeProgress();
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
