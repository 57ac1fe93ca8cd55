import { fitted } from './output/width.ts';

// The one line on a terminal that says what is being waited for. It is drawn over itself, and gone before anything else is printed.

let isDrawn = false;

export const isTerminal = () => process.stderr.isTTY === true;

export function drawStatus(text: string): void {
  if (!isTerminal()) return;
  const width = Math.max(20, (process.stderr.columns ?? 80) - 1);
  process.stderr.write(`\r\u001b[K${fitted(text, width)}`);
  isDrawn = true;
}

export function clearStatus(): void {
  if (isDrawn) process.stderr.write('\r\u001b[K');
  isDrawn = false;
}

const quietMs = 1000;

/** fetch, with a word on a terminal about an answer that takes longer than a second. */
export const fetchWithNotice: typeof fetch = async (input, init) => {
  if (!isTerminal()) return fetch(input, init);
  const host = URL.parse(input instanceof Request ? input.url : String(input))?.host ?? 'the server';
  const asked = performance.now();
  let isOwn = false;
  const notice = setInterval(() => {
    if (!isDrawn || isOwn) drawStatus(`waiting for ${host} … ${Math.round((performance.now() - asked) / 1000)}s`);
    isOwn = isDrawn;
  }, quietMs);
  try {
    return await fetch(input, init);
  } finally {
    clearInterval(notice);
    if (isOwn) clearStatus();
  }
};
