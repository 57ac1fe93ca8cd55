import { Refusal } from '../../kernel/errors.ts';
import type { Host, Opened } from '../area.ts';
import { findBundle } from './engine/keep-bundle.ts';
import { assetsPlane, outputsOf, type Served } from './planes/assets.ts';
import { entryRoute } from './planes/entry.ts';

export const openConsole = ({ app }: Host): Opened<undefined> => ({
  own: undefined,
  planes: [assetsPlane(app, makeServed(app))],
  routes: (server) => entryRoute(server, app),
});

const retrySeconds = 10;

/** A start neither waits for the bundle nor pays for it: the first visitor does, for a second in a clone that has none. */
export function makeServed({ log }: Pick<Host['app'], 'log'>, look = findBundle): Served {
  let finding: ReturnType<Served['find']> | undefined;
  const served: Served = {
    outputs: undefined,
    find: () => {
      finding ??= look().then(
        (bundle) => {
          served.outputs = outputsOf(bundle);
          return served.outputs;
        },
        (error: unknown) => {
          // Strangers may ask as often as they like: putting it together is tried again after the pause that they are told.
          setTimeout(() => {
            finding = undefined;
          }, retrySeconds * 1_000).unref();
          log.error({ err: error }, 'the console could not be put together');
          throw new Refusal(
            503,
            'unavailable',
            `the console could not be put together: ${String(error).slice(0, 300)}; the API, the command line and sign-in work without it`,
            { headers: { 'retry-after': String(retrySeconds) }, isTold: true },
          );
        },
      );
      return finding;
    },
  };
  return served;
}
