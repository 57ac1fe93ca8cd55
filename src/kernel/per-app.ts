import type { App } from './app.ts';

/** One of a thing for each running App, made when it is first asked for: there is no global state, and tests run several at once. */
export function perApp<T extends {}>(make: (app: App) => T): (app: App) => T {
  const made = new WeakMap<App, T>();
  return (app) => {
    const found = made.get(app) ?? make(app);
    made.set(app, found);
    return found;
  };
}
