import { forgetSessions } from '../../identity/store/sessions.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { task } from '../../kernel/jobs/index.ts';
import { knownDays } from './rules/known-browser.ts';
import { deleteOldDeviceRequests } from './store/device-requests.ts';
import { deletedPeople, deleteFactorsOf } from './store/factors.ts';
import { deleteOldGuesses } from './store/guesses.ts';
import { deleteOldBrowsers } from './store/known-browsers.ts';
import { deleteOldLinks } from './store/links.ts';
import { deleteOldChallenges } from './store/passkeys.ts';
import { deleteOldPending } from './store/pending.ts';

const rowsPerDelete = 500;

/** Each deletes at most `limit` rows that are over, and returns how many. */
const sweeps: readonly ((tx: Tx, limit: number) => Promise<number>)[] = [
  forgetSessions,
  deleteOldLinks,
  deleteOldPending,
  deleteOldChallenges,
  deleteOldGuesses,
  deleteOldDeviceRequests,
  (tx, limit) => deleteOldBrowsers(tx, knownDays, limit),
];

/** Deletes sessions, links, counts and browsers that are over. */
export const forgetEnded = task('account.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  for (const sweep of sweeps) while (!signal.aborted && (await app.db.write((tx) => sweep(tx, rowsPerDelete))) === rowsPerDelete);
});

const peoplePerDelete = 500;

/**
 * Deletes the factors of people whose account is deleted, 90 days after they left their last organization (areas/organization). What is over
 * by itself, such as links, goes with `account.forget`. Run twice, it finds none.
 */
export const forgetFactors = task('account.forget-factors', { everySeconds: 86_400, deadlineSeconds: 60 }, async ({ app, signal }) => {
  for (let found = peoplePerDelete; found === peoplePerDelete && !signal.aborted; )
    found = await app.db.write(async (tx) => {
      const people = await deletedPeople(tx, peoplePerDelete);
      await deleteFactorsOf(tx, people);
      return people.length;
    });
});
