/*
 * The console: a page for people. It has no rights of its own: its script asks the control API with the browser's session, and everything it
 * does is an operation. `console/` at the root holds its sources; this area makes the bundle and hands it out.
 *
 * engine/make-bundle.ts joins the sources by esbuild, engine/keep-bundle.ts finds or keeps the result, planes/assets.ts sends it. `/o/…` is the
 * same small document for every screen; `/assets/…` are its parts, named by their contents.
 *
 * States of the bundle: none → looked for (when the first visitor comes: carried by the package, kept from an earlier start, or made within two
 * seconds) → ready, or failed with a reason, and looked for again. Without a bundle the API and sign-in work, and `/o` says why.
 *
 * Crash: a bundle is written beside its place and renamed, so that a half-written one is never found.
 */
import { defineArea } from '../area.ts';
import { openConsole } from './open.ts';

export const consoleArea = defineArea({
  name: 'console',
  operations: [],
  open: openConsole,
});
