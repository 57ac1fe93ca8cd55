/** Browsers by a word of their agent. Most claim to be Chrome and Safari too, so these come last. */
const browsers = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;

const systems = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'Mac'],
  [/\bCrOS\b/, 'Chromebook'],
  [/\bLinux\b/, 'Linux'],
] as const;

const nameIn = (agent: string, names: readonly (readonly [RegExp, string])[]) => names.find(([pattern]) => pattern.test(agent))?.[1];

/** A name for the browser that sends this User-Agent, such as “Firefox on Linux”. */
export function browserName(agent: string): string {
  const [browser, system] = [nameIn(agent, browsers), nameIn(agent, systems)];
  return [browser, system].filter(Boolean).join(' on ');
}
