// What a test file can leave behind for the next one in its process, one line each.

/** What is open and can keep a process. */
export const handles = (): string[] => process.getActiveResourcesInfo();

/** What is set for the whole process. */
export const settings = (): string[] => [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).flatMap((signal) => process.listeners(signal).map(() => `a listener for ${signal}`)),
  ...Object.entries(process.env).map(([name, value]) => `${name}=${value} in the environment`),
  `the working directory ${process.cwd()}`,
  ...Object.entries(replaceable()).flatMap(([name, value]) => (value === originals[name] ? [] : [`another ${name}`])),
];

const replaceable = (): Record<string, unknown> => ({
  setTimeout,
  setInterval,
  setImmediate,
  fetch,
  Date,
  'performance.now': performance.now,
});
const originals = replaceable();

/** What is there now and was not there before, or not as often. */
export function added(before: string[], now: string[]): string[] {
  const rest = [...before];
  return now.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
