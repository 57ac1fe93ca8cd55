import { signal } from '@preact/signals';
import { type Api, ApiError, quarterdeck } from '../../sdk/browser.ts';
import { noteServerTime } from './clock.ts';
import { organization } from './place.ts';

export { type Api, ApiError } from '../../sdk/browser.ts';

/** The session is over, or never began: the frame asks to sign in, and nothing that was typed is lost. */
export const isSignedOut = signal(false);
/** The organization asks for a second factor that this session has not shown. */
export const needsSecondFactor = signal(false);

/** What a page asks while no key was pressed and no pointer moved for so long is no use of its session. */
const backgroundAfterMs = 60_000;
let lastUse = performance.now();
for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel'])
  addEventListener(
    event,
    () => {
      lastUse = performance.now();
    },
    { passive: true, capture: true },
  );
export const isBackground = (): boolean => performance.now() - lastUse > backgroundAfterMs;

const clients = new Map<string, Api>();

/** The client of an organization; the browser's cookie is its credential. */
export function apiOf(slug: string): Api {
  let client = clients.get(slug);
  if (!client) {
    client = quarterdeck({ url: location.origin, organization: slug, background: isBackground, timeoutMs: 30_000, fetch: ask });
    clients.set(slug, client);
  }
  return client;
}

export const api = (): Api => apiOf(organization.value);

async function ask(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  noteServerTime(response.headers.get('date'));
  if (response.status === 401) isSignedOut.value = true;
  if (response.headers.get('x-error-code') === 'second_factor_required') needsSecondFactor.value = true;
  return response;
}

/** The sentence of a failure, for the person. */
export const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const isCode = (error: unknown, code: string): boolean => error instanceof ApiError && error.code === code;
