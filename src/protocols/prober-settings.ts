import { fileURLToPath } from 'node:url';

// How whoever starts a prober tells it what it is: `quarterdeck probe`, which becomes one, and a server, which starts one beside itself.

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

/** Settings travel in the environment, which other users of the machine cannot read; arguments they can. */
export const settingsVariable = 'QUARTERDECK_PROBER';

export const environmentOf = (settings: ProberSettings): Record<string, string> => ({ [settingsVariable]: JSON.stringify(settings) });

/** The program to run with these settings; compiled in the npm package, a source elsewhere. */
export const proberProgram: string = fileURLToPath(
  new URL(`../programs/prober/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);
