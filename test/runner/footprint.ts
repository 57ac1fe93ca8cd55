const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** What a test file can leave behind for the next one in its process: open handles, listeners, settings. One line each. */
export function footprint(): string[] {
  const { env } = process;
  return [
    ...process.getActiveResourcesInfo(),
    ...signals.flatMap((signal) => process.listeners(signal).map(() => `a listener for ${signal}`)),
    ...Object.keys(env).map((name) => `${name}=${env[name]} in the environment`),
    `the working directory ${process.cwd()}`,
    ...Object.entries({ setTimeout, setInterval, setImmediate, fetch, Date, now: performance.now }).map(
      ([name, { length, name: real }]) => `${name} replaced by ${real}(${length})`,
    ),
  ];
}

/** What is there now and was not there before, or not as often. */
export function added(before: string[], now: string[]): string[] {
  const rest = [...before];
  return now.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
