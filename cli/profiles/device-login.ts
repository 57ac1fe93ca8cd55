import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, ApiError, UnreachableError } from '../../sdk/index.ts';
import { exitCodes, Failure } from '../exit.ts';
import { namesOf, originOf } from '../origin.ts';
import { printable } from '../printable.ts';
import { clearStatus, drawStatus } from '../status-line.ts';

// The device flow as a program sees it. Everything that the server says is checked or made harmless: the server may be anybody's until the
// person has looked at its address.

export interface Codes {
  deviceCode: string;
  /** To type, harmless on a terminal. */
  userCode: string;
  page: string;
  intervalSeconds: number;
}

export type Granted = Awaited<ReturnType<Api['account']['claimDeviceToken']>>;

const defaultIntervalSeconds = 5;
const maxIntervalSeconds = 60;
const slowDownSeconds = 5;
/** The server ends a code after 10 minutes; a server that does not is left. */
const maxWaitMs = 11 * 60_000;

export async function askForCodes(api: Api, url: string, program: string): Promise<Codes> {
  const told = await api.account.createDeviceCode({ program: program.slice(0, 100) });
  const { deviceCode, userCode, verificationUrl, intervalSeconds } = told as unknown as Record<string, unknown>;
  return {
    deviceCode: String(deviceCode),
    userCode: printable(String(userCode).slice(0, 40)).replaceAll(/\s+/g, ' '),
    page: pageOf(url, String(verificationUrl)),
    intervalSeconds: intervalOf(intervalSeconds),
  };
}

const intervalOf = (told: unknown) => (typeof told === 'number' && told >= 1 && told <= maxIntervalSeconds ? told : defaultIntervalSeconds);

/** The page must be the server's own: elsewhere the person would type the code, and perhaps a password, into a page of somebody else. */
function pageOf(url: string, told: string): string {
  const page = URL.parse(told);
  const isOwn = page && !page.username && !page.password && namesOf(url).some((own) => originOf(own) === originOf(page.href));
  if (isOwn) return page.href;
  throw new Failure(
    exitCodes.refused,
    `the server at ${url} gives ${JSON.stringify(told.slice(0, 200))} as the page to type the code on, which is another server; nothing was done. Log in with the address that it calls itself`,
  );
}

/** Asks until the person has answered. */
export async function waitForToken(api: Api, codes: Codes, signal: AbortSignal, wait = pause): Promise<Granted> {
  const began = performance.now();
  let { intervalSeconds } = codes;
  for (;;) {
    await wait(codes, intervalSeconds, signal);
    const answer = await claim(api, codes, signal);
    if (typeof answer === 'object') return answer;
    if (answer === 'slow down') intervalSeconds = Math.min(maxIntervalSeconds, intervalSeconds + slowDownSeconds);
    if (performance.now() - began > maxWaitMs)
      throw new Failure(exitCodes.timedOut, 'the code was not approved in time; nothing was changed. Log in again for another code');
  }
}

/** A server that is away for a moment ends nothing: the code is good for minutes. */
async function claim(api: Api, { deviceCode }: Codes, signal: AbortSignal): Promise<Granted | 'not yet' | 'slow down'> {
  try {
    return await api.account.claimDeviceToken({ deviceCode }, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof UnreachableError) return 'not yet';
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 'authorization_pending' || error.status >= 500) return 'not yet';
    if (error.code === 'slow_down' || error.status === 429) return 'slow down';
    throw error;
  }
}

async function pause({ userCode }: Codes, seconds: number, signal: AbortSignal): Promise<void> {
  for (let left = seconds; left > 0; left--) {
    drawStatus(`waiting for your approval of ${userCode} in the browser … (Ctrl-C gives up)`);
    await sleep(Math.min(1, left) * 1000, undefined, { signal });
  }
  clearStatus();
}
