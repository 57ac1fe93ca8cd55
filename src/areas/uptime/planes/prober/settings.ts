import { fileURLToPath } from 'node:url';
import { exitCodes, Stop } from '../../../../kernel/errors.ts';

/** What a prober is told when it is started. It has no settings file and no database: this is all it knows. */
export type ProberSettings = ({ readonly socketPath: string } | { readonly server: string; readonly token: string }) & {
  /** A directory of its own: what could not be delivered yet, and the name under which it delivers. Made when it is not there. */
  readonly bufferDir: string;
  readonly dnsServers: readonly string[];
  /** As QUARTERDECK_ALLOW_PRIVATE_CIDRS has it. */
  readonly allowPrivateCidrs: string;
  /** host:port, watched to know whether the prober itself is cut off. */
  readonly canaries: readonly string[];
  readonly logLevel: string;
  readonly version: string;
  /** For whoever starts it with a pipe as stdin: it ends, as on SIGTERM, when the other end is gone. */
  readonly endWithStdin: boolean;
};

/** Through the environment, which other users cannot read; arguments they can. */
const variable = 'QUARTERDECK_PROBER';

export const environmentOf = (settings: ProberSettings): Record<string, string> => ({ [variable]: JSON.stringify(settings) });

export function settingsOf(env: NodeJS.ProcessEnv): ProberSettings {
  const text = env[variable];
  if (text === undefined)
    throw new Stop(exitCodes.usage, 'this program is started by `quarterdeck serve` and `quarterdeck probe`; use those');
  return JSON.parse(text) as ProberSettings;
}

/** The program to run with these settings; compiled in the npm package, a source elsewhere. */
export const childFile = fileURLToPath(new URL(`./child${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url));
