import type { Page } from 'playwright-core';

/** What must be on the screen for an act to count as done; nothing that still loads may be beside it. */
export interface Seen {
  selector: string;
  /** Part of the text of one element that the selector finds. */
  text?: string;
}

/**
 * Runs in every page. The time of an act begins with its event, as the browser stamped it, and ends after the frame that shows the result was
 * painted: the message that a frame callback posts is handled after that frame.
 */
const inPage = `globalThis.paintClock = (() => {
  let pressedAt, wanted, settle;
  for (const type of ['keydown', 'click', 'input', 'change'])
    addEventListener(type, (event) => { if (wanted) pressedAt ??= event.timeStamp; }, { capture: true });
  const isSeen = ({ selector, text }) =>
    !document.querySelector('main .loading') &&
    [...document.querySelectorAll(selector)].some((element) => text === undefined || element.textContent.includes(text));
  const look = () => {
    if (!wanted) return;
    if (pressedAt === undefined || !isSeen(wanted)) return void requestAnimationFrame(look);
    wanted = undefined;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => settle({
      tookMs: performance.now() - pressedAt,
      pressedAt: performance.timeOrigin + pressedAt,
      paintedAt: performance.timeOrigin + performance.now(),
    });
    port2.postMessage(0);
  };
  let result;
  return {
    start: (seen, isActing) => {
      pressedAt = isActing ? undefined : performance.now();
      wanted = seen;
      result = new Promise((resolve) => { settle = resolve; });
      requestAnimationFrame(look);
    },
    result: () => result,
  };
})();`;

export interface Painted {
  tookMs: number;
  /** Wall clock, so that two pages of one machine can be compared. */
  pressedAt: number;
  paintedAt: number;
}

export const installPaintClock = (page: Page): Promise<unknown> => page.addInitScript(inPage);

/** From now on the page looks for it in every frame; one that acts, from its next event on. */
export const startLooking = (page: Page, seen: Seen, { isActing = true } = {}): Promise<unknown> =>
  page.evaluate(`paintClock.start(${JSON.stringify(seen)}, ${isActing})`);

export const whenPainted = (page: Page): Promise<Painted> => page.evaluate('paintClock.result()');

/** Milliseconds from the event of an act to the painted frame that shows its result. */
export async function paintTime(page: Page, seen: Seen, act: () => Promise<unknown>): Promise<number> {
  await startLooking(page, seen);
  await act();
  const timer = AbortSignal.timeout(20_000);
  const late = new Promise<never>((_, reject) =>
    timer.addEventListener('abort', () => reject(new Error(`${JSON.stringify(seen)} was not seen within 20 s`)), { once: true }),
  );
  return (await Promise.race([whenPainted(page), late])).tookMs;
}
