import { type Attempts, makeAttempts } from '../../../../identity/attempts.ts';
import { type RateLimit, rateLimit } from '../../../../identity/rate-limit.ts';
import { type FindSignedIn, makeFindSignedIn } from '../../../../identity/signed-in.ts';
import type { App } from '../../../../kernel/app.ts';

/** What the pages of the account share in a process, beside the app. */
export interface Forms extends App {
  findSignedIn: FindSignedIn;
  /** Cookies that were made up are throttled by address, each kind for itself. */
  guessesAt: { pending: Attempts; knownBrowser: Attempts };
  /** As for the control API, but for each session by itself: the flood of a stolen one does not keep its person from ending it. */
  rate: RateLimit;
}

export const makeForms = (app: App): Forms =>
  Object.assign(Object.create(app) as App, {
    findSignedIn: makeFindSignedIn(app),
    guessesAt: { pending: makeAttempts(app), knownBrowser: makeAttempts(app) },
    rate: rateLimit(app.config.rate_limit),
  });
